// ------------------------------------------------------------------ table
const PAGE = 20;
const columns = [
  { title: "row", key: (i) => data.row[i], number: true },
  { title: "label", key: (i) => data.label[i], show: (i) => shorten(data.label[i], 80), name: true, absent: data.label === null },
  { title: "flag", key: (i) => data.flag[i], show: (i) => FLAGS[data.flag[i]] },
  { title: "excess", key: (i) => data.times[i], show: (i) => times(data.times[i]), number: true },
  { title: "score distance", key: (i) => data.sd[i], show: (i) => number(data.sd[i]), number: true },
  { title: "orthogonal distance", key: (i) => data.od[i], show: (i) => number(data.od[i]), number: true },
  { title: "most unusual variables", key: (i) => data.names[data.variables[i][0]], show: (i) => unusual(i, 24).join(", "), wrap: true },
  { title: "classical PCA", key: (i) => data.alsoClassical[i], show: (i) => (data.alsoClassical[i] ? "flags it" : "does not"), absent: data.classical === null },
].filter((column) => !column.absent);

const table = element("table");
let sorted = { column: columns.find((column) => column.title === "excess"), down: true };
let order = [];
let page = 0;

// The rows that were selected, or else those beyond a limit.
const listed = () => {
  const rows = [...Array(N).keys()];
  return state.selection.size ? rows.filter((i) => state.selection.has(i)) : rows.filter((i) => data.flag[i] !== 0);
};
const sortRows = () => {
  const { column, down } = sorted;
  const sign = down ? -1 : 1;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const keys = new Map(order.map((i) => [i, column.key(i)]));
  const difference = (i, j) => {
    const [a, b] = [keys.get(i), keys.get(j)];
    return typeof a === "string" ? compare(a, b) : a - b;
  };
  order.sort((i, j) => sign * difference(i, j) || i - j);
};
const tableLine = (i) => {
  const line = document.createElement("tr");
  if (i === state.row) line.setAttribute("aria-current", "true");
  for (const column of columns) {
    const cell = line.insertCell();
    cell.className = column.number ? "number" : column.wrap ? "wrap" : column.name ? "name" : "";
    const text = String((column.show || column.key)(i));
    if (column.title === "row") {
      const button = make("button", text, "open");
      button.type = "button";
      button.setAttribute("aria-label", `Show ${rowName(i)}`);
      cell.append(button);
      continue;
    }
    if (column.title === "flag") cell.append(flagMark(data.flag[i]));
    cell.append(text);
  }
  line.addEventListener("click", () => choose(i));
  return line;
};
const showPage = () => {
  const from = page * PAGE;
  const shown = order.slice(from, from + PAGE);
  const focused = document.activeElement && table.contains(document.activeElement) && document.activeElement.closest("tbody");
  table.tBodies[0].replaceChildren(...shown.map(tableLine));
  if (focused) table.querySelector("tr[aria-current] button")?.focus({ preventScroll: true });
  element("range").textContent = `${count(Math.min(from + 1, order.length))}–${count(from + shown.length)} of ${count(order.length)}`;
  element("previous").disabled = page === 0;
  element("following").disabled = from + PAGE >= order.length;
};
const listRows = () => {
  order = listed();
  sortRows();
  page = 0;
  const chosen = state.selection.size;
  element("rows-listed").hidden = !order.length;
  element("none").hidden = Boolean(order.length);
  element("clear").hidden = !chosen;
  element("selected-note").textContent = chosen ? `The table shows the ${count(chosen)} ${chosen === 1 ? "row" : "rows"} selected in a figure.` : "";
  const counts = data.levels && !chosen ? data.levels.at[state.level].counts : null;
  const flagged = counts ? counts[1] + counts[2] + counts[3] : order.length;
  element("held-note").textContent = flagged > order.length ? `This file holds ${count(order.length)} of the ${count(flagged)} rows.` : "";
  showPage();
};
// The row before or after the one that is shown, in the order of the table.
const step = (by) => {
  const at = order.indexOf(state.row);
  const next = order[at < 0 ? 0 : at + by];
  if (next !== undefined) choose(next);
};
const sortBy = (column, head) => {
  // The first click on numbers puts the largest on top, on names the first of the alphabet.
  const before = head.getAttribute("aria-sort");
  const down = before ? before === "ascending" : Boolean(column.number) && column.title !== "row";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  sorted = { column, down };
  sortRows();
  page = 0;
  showPage();
};
const buildTable = () => {
  for (const column of columns) {
    const head = document.createElement("th");
    head.scope = "col";
    head.className = column.number ? "number" : "";
    const button = make("button", column.title);
    button.type = "button";
    button.addEventListener("click", () => sortBy(column, head));
    head.append(button);
    if (column.title === "excess") head.setAttribute("aria-sort", "descending");
    table.tHead.rows[0].append(head);
  }
  element("previous").addEventListener("click", () => { page -= 1; showPage(); });
  element("following").addEventListener("click", () => { page += 1; showPage(); });
  element("clear").addEventListener("click", () => select([]));
  element("export").addEventListener("click", () => save(state.selection.size ? "selected_rows.csv" : "flagged_rows.csv", csv(order)));
  on("row", () => {
    const at = order.indexOf(state.row);
    if (at >= 0) page = Math.floor(at / PAGE);
    showPage();
  });
  on("selection", listRows);
  on("level", listRows);
  listRows();
};

// ------------------------------------------------------------------ export
// A spreadsheet takes text that begins with these signs for a formula; an apostrophe keeps it text.
const csvCell = (x) => {
  if (x === null) return "";
  if (typeof x === "number") return String(x);
  const text = /^[\s]*[=+\-@\t\r]/.test(x) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(x) ? `'${x}` : x;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};
const csv = (rows) => {
  const ranks = data.values.map((_, rank) => rank);
  const head = ["row", ...(data.label ? ["label"] : []), "flag", "score_distance", "orthogonal_distance", "excess",
    ...(data.classical ? ["flagged_by_classical_pca"] : []), "measure",
    ...ranks.flatMap((rank) => [`variable_${rank + 1}`, `value_${rank + 1}`])];
  const lines = rows.map((i) => [
    data.row[i], ...(data.label ? [data.label[i]] : []), FLAGS[data.flag[i]], data.sd[i], data.od[i], data.times[i],
    ...(data.classical ? [data.alsoClassical[i]] : []),
    data.byScore[i] ? "share of squared score distance" : "residual in robust spreads",
    ...ranks.flatMap((rank) => {
      const x = data.values[rank][i];
      return x === null ? [null, null] : [data.names[data.variables[i][rank]], x];
    })]);
  return [head, ...lines].map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
};
const save = (name, content) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
