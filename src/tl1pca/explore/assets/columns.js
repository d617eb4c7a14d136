// The columns: what each holds, how wide it spreads, what is missing, and whether it takes part.
import { count, element, make, number, percent, shorten } from "./text.js";
import { onState, state } from "./server.js";
import { markEdited } from "./settings.js";

const MOST_SHOWN = 300;
let chosen = new Set();
let shownFor = "";
export const chosenColumns = () => state.numbers.filter((name) => chosen.has(name));

const describe = (column) => {
  const parts = [];
  if (column.spread !== null) parts.push(`median ${number(column.median)}, spread ${number(column.spread)}, ${number(column.low)} to ${number(column.high)}`);
  if (column.missing > 0) parts.push(`${column.missing < 0.01 ? "under 1 %" : percent(column.missing)} missing`);
  return parts.join("; ");
};
const line = (column) => {
  const item = document.createElement("li");
  const label = make("label", "", "inline");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = chosen.has(column.name);
  box.disabled = !column.usable;
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(column.name);
    else chosen.delete(column.name);
    showCount();
    markEdited();
  });
  const name = make("span", shorten(column.name, 60), "name");
  name.title = column.name;
  label.append(box, name);
  const about = make("p", "", "note");
  about.append(make("span", column.guess, "guess"), describe(column) ? `: ${describe(column)}` : "");
  item.append(label, about);
  return item;
};
const showCount = () => {
  element("columns-count").textContent = `Columns: ${count(chosen.size)} of ${count(state.columns.length)} take part`;
};
const showList = () => {
  const text = element("columns-find").value.trim().toLowerCase();
  const found = state.columns.filter((column) => column.name.toLowerCase().includes(text));
  element("columns").replaceChildren(...found.slice(0, MOST_SHOWN).map(line));
  element("columns-more").textContent = found.length > MOST_SHOWN ? `and ${count(found.length - MOST_SHOWN)} more; search for them.` : "";
};
export const buildColumns = () => {
  const all = (taken) => {
    chosen = new Set(taken ? state.numbers : []);
    showCount();
    showList();
    markEdited();
  };
  element("columns-all").addEventListener("click", () => all(true));
  element("columns-none").addEventListener("click", () => all(false));
  element("columns-find").addEventListener("input", showList);
  element("columns-find").addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  onState(() => {
    if (!state.file) return;
    const now = JSON.stringify([state.file.id, state.settings.columns]);
    if (now === shownFor) return;
    shownFor = now;
    chosen = new Set(state.settings.columns);
    showCount();
    showList();
  });
};
