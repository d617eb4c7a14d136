// One row: its values, what was to be expected, what each column adds, and what is decided about it.
import { count, element, flagMark, make, measured, number, percent, shorten, shortNames, signed, times } from "./text.js";
import { get, onState, state, trying } from "./server.js";
import { chooseRow, onRow } from "./figures.js";
import { decide } from "./decisions.js";
import { step } from "./table.js";

const MOST_COLUMNS = 60;
let row = null;
let about = null;

const cellButton = (j, off) => {
  const button = make("button", off ? "Put back" : "Set aside");
  button.type = "button";
  button.setAttribute("aria-label", `${off ? "Put back" : "Set aside"} ${state.numbers[j]} of this row`);
  button.addEventListener("click", () => decide(off ? "back" : "aside", { cells: [[row, j]] }));
  return button;
};
const showColumns = () => {
  const byShare = element("row-measure").value === "share";
  const [bad, off] = [new Set(about.bad), new Set(about.off)];
  const parts = about.parts ? [...about.parts] : state.settings.columns.map((name) => ({ column: state.numbers.indexOf(name), expected: null, residual: null, share: null }));
  const amount = (part) => (byShare ? part.share : part.residual) ?? 0;
  const most = Math.max(...parts.map((part) => Math.abs(amount(part))), 1e-300);
  if (element("row-order").value === "size") parts.sort((a, b) => Math.abs(amount(b)) - Math.abs(amount(a)) || a.column - b.column);
  const names = shortNames(state.numbers, 40);
  element("row-columns").tBodies[0].replaceChildren(...parts.slice(0, MOST_COLUMNS).map((part) => {
    const line = make("tr", "", off.has(part.column) ? "off" : "");
    const name = make("th", names[part.column], "name");
    name.scope = "row";
    name.title = state.numbers[part.column];
    const value = about.values[part.column];
    const bar = make("span", "", amount(part) < 0 ? "bar below" : "bar");
    bar.style.width = `${(45 * Math.abs(amount(part))) / most}%`;
    const cell = make("td", "", "bars");
    if (part.residual !== null) cell.append(bar, make("span", byShare ? percent(part.share) : signed(part.residual), "amount"));
    const decision = document.createElement("td");
    if (value !== null && !about.aside) decision.append(cellButton(part.column, off.has(part.column)));
    line.append(name, make("td", value === null ? "missing" : measured(value), bad.has(part.column) ? "number bad" : "number"),
      make("td", part.expected === null ? "" : measured(Number(part.expected.toPrecision(4))), "number"), cell, decision);
    return line;
  }));
  element("row-left").textContent = parts.length > MOST_COLUMNS ? `and ${count(parts.length - MOST_COLUMNS)} more` : "";
};
const show = () => {
  element("row-title").textContent = about.label === null ? `Row ${about.row}` : `${shorten(about.label, 120)} (row ${about.row})`;
  const kind = about.aside ? 4 : about.kind;
  element("row-flag").replaceChildren(...(kind === undefined ? [] : [flagMark(kind), about.aside ? "set aside" : about.flag]));
  element("row-distances").textContent = about.sd === null || about.sd === undefined ? ""
    : `Score distance ${number(about.sd)}, orthogonal distance ${number(about.od)}: ${times(about.excess)} times the limit.`;
  element("row-texts").replaceChildren(...state.texts.flatMap((name, t) => (name === state.label ? [] : [make("dt", shorten(name, 40)), make("dd", shorten(about.texts[t], 200))])));
  element("row-aside").textContent = about.aside ? "Put this row back" : "Set this row aside";
  showColumns();
};
const open = async (fresh, from = "") => {
  const wasOpen = !element("row").hidden;
  if (fresh === null) {
    [row, about] = [null, null];
    element("row").hidden = true;
    document.body.classList.remove("beside");
    if (wasOpen) window.dispatchEvent(new Event("resize"));
    return;
  }
  const same = fresh === row && about !== null;
  row = fresh;
  const answer = await trying(() => get(`api/row?row=${fresh}`));
  if (!answer || row !== fresh) return;
  about = answer;
  if (!same) element("row-measure").value = about.byScore ? "share" : "residual";
  element("row").hidden = false;
  document.body.classList.add("beside");
  show();
  if (from === "keyboard") element("row-aside").focus();
  if (!wasOpen) window.dispatchEvent(new Event("resize"));
};
const close = () => {
  const opener = element("table").querySelector(`button[data-row="${row}"]`);
  chooseRow(null);
  (opener || element("find")).focus({ preventScroll: true });
};
export const buildRow = () => {
  onRow(open);
  let version = null;
  onState(() => {
    if (row !== null && version !== null && state.version !== version && !state.job) open(row);
    version = state.version;
  });
  for (const id of ["row-measure", "row-order"]) element(id).addEventListener("change", () => about && showColumns());
  element("row-aside").addEventListener("click", () => decide(about.aside ? "back" : "aside", { rows: [row] }));
  element("row-close").addEventListener("click", close);
  element("row-previous").addEventListener("click", () => step(-1));
  element("row-next").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && row !== null && !element("curve-dialog").open) close();
  });
};
