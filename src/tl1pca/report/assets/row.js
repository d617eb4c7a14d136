// ------------------------------------------------------------------ one row: its values, and what each column adds
const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const model = data.model && {
  ...data.model,
  components: floats(data.model.components), // k rows of d, one after the other
  dual: floats(data.model.dual),
  centered: floats(data.model.centered), // the rows of the page from the first on, less the center
  raw: data.model.raw === null ? null : floats(data.model.raw), // what was measured, where the rows above do not say it
  cells: data.model.cells === null ? null : floats(data.model.cells), // residuals of single cells, in deviations
};
const SHOWN = 12;

// The arithmetic of tl1pca._unusual: residuals in robust spreads, shares of what columns add to the squared score distance.
const contributions = (i) => {
  const d = data.names.length;
  const k = model.precision.length;
  const a = model.centered.subarray(i * d, (i + 1) * d);
  const scores = Array.from({ length: k }, (_, c) => {
    let t = 0;
    for (let j = 0; j < d; j += 1) t += a[j] * model.dual[c * d + j];
    return t;
  });
  const parts = Array.from({ length: d }, (_, j) => {
    let [fit, pull] = [0, 0];
    for (let c = 0; c < k; c += 1) {
      fit += scores[c] * model.components[c * d + j];
      pull += scores[c] * model.precision[c] * model.dual[c * d + j];
    }
    const back = (x) => (model.shift === null ? null : model.shift[j] + model.factor[j] * x);
    const cell = model.cells === null ? 0 : model.cells[i * d + j];
    return {
      column: j,
      value: model.raw === null ? back(model.mean[j] + a[j]) : model.raw[i * d + j],
      expected: back(model.mean[j] + fit),
      residual: (a[j] - fit) / model.spread[j],
      share: Math.max(a[j] * pull, 0),
      cell: Number.isNaN(cell) ? 0 : cell,
      state: Number.isNaN(cell) ? "missing" : model.cells !== null && Math.abs(cell) > model.cutoff ? "bad cell" : "",
    };
  });
  const total = parts.reduce((sum, part) => sum + part.share, 0) || 1;
  return parts.map((part) => ({ ...part, share: part.share / total }));
};

const showColumns = () => {
  const measure = element("row-measure").value;
  const amount = (c) => c[measure];
  const parts = contributions(state.row);
  const most = Math.max(...parts.map((c) => Math.abs(amount(c))), 1e-300);
  if (element("row-order").value === "size") parts.sort((a, b) => Math.abs(amount(b)) - Math.abs(amount(a)) || a.column - b.column);
  const shown = element("row-all").checked ? parts : parts.slice(0, SHOWN);
  element("row-columns").tBodies[0].replaceChildren(...shown.map((part) => {
    const line = document.createElement("tr");
    const name = make("th", columnName(part.column, 40), "name");
    name.scope = "row";
    name.title = data.names[part.column];
    const bar = make("span", "", amount(part) < 0 ? "bar below" : "bar");
    bar.style.width = `${(45 * Math.abs(amount(part))) / most}%`;
    const cell = make("td", "", "bars");
    cell.append(bar, make("span", measure === "share" ? percent(part.share) : signed(amount(part)), "amount"));
    if (part.state) name.append(" ", make("span", part.state, "state"));
    line.append(name, make("td", measured(part.value), "number"));
    if (model.shift !== null) line.append(make("td", measured(part.expected, 4), "number"));
    line.append(cell);
    return line;
  }));
  element("row-expected").hidden = model.shift === null;
  element("row-left").textContent = parts.length > shown.length ? `and ${count(parts.length - shown.length)} more` : "";
};

const showRow = () => {
  const i = state.row;
  const panel = element("row");
  const opened = i !== null && panel.hidden;
  panel.hidden = i === null;
  document.body.classList.toggle("beside", i !== null);
  if (i !== null) {
    element("row-title").textContent = rowName(i, 120);
    element("row-flag").replaceChildren(flagMark(data.flag[i]), FLAGS[data.flag[i]]);
    element("row-distances").textContent =
      `Score distance ${number(data.sd[i])}, orthogonal distance ${number(data.od[i])}: ${times(data.times[i])} times the limit.`;
    const known = Boolean(model) && i < model.rows;
    element("row-detail").hidden = !known;
    element("row-unknown").hidden = known;
    const wrong = known && model.cells ? contributions(i).filter((part) => part.state) : [];
    element("row-unusual").textContent = wrong.length
      ? `Cells: ${wrong.map((part) => `${columnName(part.column, 60)} (${part.state === "missing" ? "missing" : signed(part.cell)})`).join(", ")}.`
      : `Most unusual: ${unusual(i, 60).join(", ")}.`;
    element("row-unknown").textContent = known ? "" :
      `The values of this row are not in the file, which holds those of ${count(model ? model.rows : 0)} rows, ` +
      "the furthest out first.";
    if (known) {
      element("row-measure").value = wrong.length ? "cell" : data.byScore[i] ? "share" : "residual";
      showColumns();
    }
  }
  // The figures have become narrower, or wide again.
  if (opened || i === null) window.dispatchEvent(new Event("resize"));
};
const buildRow = () => {
  if (model?.cells) element("row-measure").add(new Option("cell against its row, in deviations", "cell"));
  on("row", showRow);
  on("level", () => { if (state.row !== null) showRow(); });
  for (const id of ["row-measure", "row-order", "row-all"]) element(id).addEventListener("change", showColumns);
  const close = () => {
    choose(null);
    element("search").focus({ preventScroll: true });
  };
  element("row-close").addEventListener("click", close);
  element("row-previous").addEventListener("click", () => step(-1));
  element("row-next").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.row !== null) close(); });
};

// ------------------------------------------------------------------ search
const MOST_FOUND = 12;
const findRows = (text) => {
  const wanted = text.trim().toLowerCase();
  const found = [];
  if (!wanted) return found;
  const ranks = (i) => {
    const names = [String(data.row[i]), ...(data.label === null ? [] : [data.label[i].toLowerCase()])];
    return Math.min(...names.map((name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3)));
  };
  for (let i = 0; i < N; i += 1) {
    const rank = ranks(i);
    if (rank < 3) found.push([rank, i]);
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, i]) => i);
};
const buildSearch = () => {
  const [box, list] = [element("search"), element("search-results")];
  const show = () => {
    const found = findRows(box.value);
    list.replaceChildren(...found.slice(0, MOST_FOUND).map((i) => {
      const item = document.createElement("li");
      const button = make("button");
      button.type = "button";
      button.append(flagMark(data.flag[i]), rowName(i));
      button.addEventListener("click", () => {
        list.replaceChildren();
        choose(i);
      });
      item.append(button);
      return item;
    }));
    element("search-count").textContent = !box.value.trim() ? ""
      : found.length > MOST_FOUND ? `${count(found.length)} rows found`
        : found.length ? "" : `Not among the ${count(N)} rows that this file holds.`;
  };
  box.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const [first] = findRows(box.value);
    if (first === undefined) return;
    list.replaceChildren();
    choose(first);
  });
};
