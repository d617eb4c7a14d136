// The table: the server sorts and searches, the page holds the rows in sight.
import { count, element, flagMark, make, measured, shortNames, times } from "./text.js";
import { get, onState, state, trying } from "./server.js";
import { chooseRow, onRow } from "./figures.js";
import { decide } from "./decisions.js";

const HEIGHT = 31; // of a row, with its line
const AHEAD = 15; // rows beyond what is in sight
const MOST_COLUMNS = 100;
const sorted = { by: "row", kind: "row", down: false };
let firstColumn = 0;
let total = 0;
let shown = { start: -1, rows: [] };
let current = null;
let asked = 0;
let focusRow = null;

const query = (start, rows) => new URLSearchParams({
  start, count: rows, column: firstColumn, by: sorted.by, kind: sorted.kind, down: sorted.down ? 1 : 0,
  find: element("find").value, only: element("only").value, version: state.version,
});

// ------------------------------------------------------------------ headings
const headings = () => {
  const texts = state.texts.filter((name) => name !== state.label);
  const used = new Set(state.settings.columns);
  return [
    { title: "row", by: "row", kind: "row", number: true },
    ...(state.labeled ? [{ title: state.label || "label", by: "label", kind: "label" }] : []),
    { title: "flag", by: "flag", kind: "fit", down: true },
    { title: "excess", by: "excess", kind: "fit", down: true, number: true },
    ...texts.map((name) => ({ title: name, by: name, kind: "text" })),
    ...state.numbers.slice(firstColumn, firstColumn + MOST_COLUMNS)
      .map((name) => ({ title: name, by: name, kind: "column", number: true, unused: !used.has(name) })),
  ];
};
const showHead = () => {
  const columns = headings();
  const names = shortNames(columns.map((column) => column.title), 30);
  element("table").tHead.rows[0].replaceChildren(...columns.map((column, j) => {
    const head = make("th", "", [column.number ? "number" : "", column.unused ? "unused" : "", j ? "" : "first"].join(" ").trim());
    head.scope = "col";
    const button = make("button", names[j]);
    button.type = "button";
    button.title = column.unused ? `${column.title} (does not take part)` : column.title;
    const same = sorted.by === column.by && sorted.kind === column.kind;
    if (same) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    button.addEventListener("click", () => {
      const down = same ? !sorted.down : Boolean(column.down);
      Object.assign(sorted, { by: column.by, kind: column.kind, down });
      showHead();
      element("scroller").scrollTop = 0;
      renew();
    });
    head.append(button);
    return head;
  }));
  element("table").tHead.rows[0].querySelector("[aria-sort] button")?.classList.add("sorted");
};

// ------------------------------------------------------------------ rows
const tableLine = (row, at) => {
  const line = make("tr", "", row.kind === null ? "" : `flag-${row.kind}`);
  line.setAttribute("aria-rowindex", at + 2);
  if (row.row === current) line.setAttribute("aria-current", "true");
  const add = (text, className = "") => {
    const cell = make("td", text, className);
    line.append(cell);
    return cell;
  };
  const open = make("button", String(row.row), "open");
  open.type = "button";
  open.dataset.row = row.row;
  open.setAttribute("aria-label", `Row ${row.row}${row.label === null ? "" : `, ${row.label}`}${row.flag ? `: ${row.flag}` : ""}`);
  add("", "number first").append(open);
  if (state.labeled) add(row.label, "name");
  const flag = add("", "region");
  if (row.kind !== null) flag.append(flagMark(row.kind), row.flag);
  add(row.excess === null ? "" : times(row.excess), "number");
  state.texts.forEach((name, t) => { if (name !== state.label) add(row.texts[t]); });
  const [bad, off] = [new Set(row.bad), new Set(row.off)];
  const used = new Set(state.settings.columns);
  row.values.forEach((x, v) => {
    const j = v + firstColumn;
    const signs = [x === null ? "gap" : "", bad.has(j) ? "bad" : "", off.has(j) ? "off" : "", used.has(state.numbers[j]) ? "" : "unused"];
    const cell = add(x === null ? "–" : measured(x), ["number", ...signs].filter(Boolean).join(" "));
    if (bad.has(j)) cell.title = "does not fit its row";
    if (off.has(j)) cell.title = "set aside";
  });
  // Whoever came by the keyboard goes on in the panel.
  line.addEventListener("click", (event) => chooseRow(row.row, event.detail === 0 ? "keyboard" : ""));
  return line;
};
const showRows = () => {
  const table = element("table");
  table.style.top = `${shown.start * HEIGHT}px`;
  table.setAttribute("aria-rowcount", total + 1);
  table.tBodies[0].replaceChildren(...shown.rows.map((row, i) => tableLine(row, shown.start + i)));
  element("spacer").style.height = `${(total + 1) * HEIGHT + 4}px`;
  // A short table is as high as its rows.
  element("scroller").style.height = total < 14 ? `${(total + 2) * HEIGHT}px` : "";
  element("spacer").style.width = `${table.offsetWidth}px`;
  if (focusRow !== null) {
    table.tBodies[0].rows[focusRow - shown.start]?.querySelector("button").focus({ preventScroll: true });
    focusRow = null;
  }
  const top = Math.floor(element("scroller").scrollTop / HEIGHT);
  const last = Math.min(total, top + Math.floor(element("scroller").clientHeight / HEIGHT) - 1);
  element("range").textContent = total ? `${count(Math.min(top + 1, total))}–${count(last)} of ${count(total)}` : "no rows";
};
const fetchRows = async () => {
  const mine = (asked += 1);
  const scroller = element("scroller");
  const top = Math.floor(scroller.scrollTop / HEIGHT);
  const start = Math.max(0, top - AHEAD);
  const rows = Math.min(200, Math.max(20, Math.ceil(scroller.clientHeight / HEIGHT)) + 2 * AHEAD);
  const page = await trying(() => get(`api/rows?${query(start, rows)}`));
  if (!page || mine !== asked) return;
  total = page.total;
  shown = { start: page.start, rows: page.rows };
  showRows();
  document.documentElement.dataset.rows = `${page.version}`;
};
const renew = () => {
  if (state.file) fetchRows();
};
const scrolled = () => {
  const scroller = element("scroller");
  const top = Math.floor(scroller.scrollTop / HEIGHT);
  const bottom = Math.min(total, top + Math.ceil(scroller.clientHeight / HEIGHT));
  if (top < shown.start || bottom > shown.start + shown.rows.length) fetchRows();
  else showRange(top);
};
const showRange = (top) => {
  const last = Math.min(total, top + Math.floor(element("scroller").clientHeight / HEIGHT) - 1);
  element("range").textContent = total ? `${count(Math.min(top + 1, total))}–${count(last)} of ${count(total)}` : "no rows";
};

// The row before or after the one that is shown, in the order of the table.
export const step = async (by) => {
  const at = shown.rows.findIndex((row) => row.row === current);
  const next = at < 0 ? shown.rows[0] : shown.rows[at + by];
  if (next) {
    bringIntoView(shown.start + (at < 0 ? 0 : at + by));
    chooseRow(next.row);
  }
};
const bringIntoView = (at) => {
  const scroller = element("scroller");
  const [top, bottom] = [at * HEIGHT, (at + 3) * HEIGHT];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
};
const moveFocus = (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const line = event.target.closest("tbody tr");
  if (!by || !line) return;
  event.preventDefault();
  const at = Number(line.getAttribute("aria-rowindex")) - 2 + by;
  if (at < 0 || at >= total) return;
  bringIntoView(at);
  const there = element("table").tBodies[0].rows[at - shown.start];
  if (there) there.querySelector("button").focus({ preventScroll: true });
  else focusRow = at;
};

export const buildTable = () => {
  let version = null;
  let file = null;
  onState(() => {
    if (!state.file || state.version === version) return;
    version = state.version;
    if (file !== state.file.id) {
      file = state.file.id;
      firstColumn = 0;
      Object.assign(sorted, { by: "row", kind: "row", down: false });
      element("find").value = "";
      element("only").value = "all";
      element("scroller").scrollTop = 0;
    }
    const flagged = state.fit ? state.fit.counts[1] + state.fit.counts[2] + state.fit.counts[3] : 0;
    element("flagged-aside").hidden = !flagged;
    element("flagged-aside").textContent = flagged === 1 ? "Set the flagged row aside" : `Set all ${count(flagged)} flagged rows aside`;
    element("cells-aside").hidden = !(state.fit && state.fit.judgesCells && state.fit.cells);
    if (state.fit) element("cells-aside").textContent = `Set all ${count(state.fit.cells)} bad cells aside`;
    const many = state.numbers.length > MOST_COLUMNS;
    element("shown-columns").hidden = !many;
    element("columns-range").textContent = `columns ${firstColumn + 1}–${Math.min(firstColumn + MOST_COLUMNS, state.numbers.length)} of ${count(state.numbers.length)}`;
    showHead();
    renew();
  });
  onRow((row) => {
    current = row;
    for (const line of element("table").tBodies[0].rows) {
      if (line.querySelector("button").textContent === String(row)) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  });
  let wait = null;
  element("find").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { element("scroller").scrollTop = 0; renew(); }, 150);
  });
  element("only").addEventListener("change", () => { element("scroller").scrollTop = 0; renew(); });
  element("scroller").addEventListener("scroll", scrolled, { passive: true });
  element("table").tBodies[0].addEventListener("keydown", moveFocus);
  element("flagged-aside").addEventListener("click", () => decide("flagged-aside"));
  element("cells-aside").addEventListener("click", () => decide("cells-aside"));
  const turn = (by) => {
    firstColumn = Math.max(0, Math.min(firstColumn + by * MOST_COLUMNS, state.numbers.length - 1));
    firstColumn -= firstColumn % MOST_COLUMNS;
    element("columns-range").textContent = `columns ${firstColumn + 1}–${Math.min(firstColumn + MOST_COLUMNS, state.numbers.length)} of ${count(state.numbers.length)}`;
    showHead();
    renew();
  };
  element("columns-before").addEventListener("click", () => turn(-1));
  element("columns-after").addEventListener("click", () => turn(1));
};
