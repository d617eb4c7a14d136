// The report's linked figures, for the fit of the moment.
import { count, element, make } from "./text.js";
import { views } from "./views.js";
import { get, onState, state, trying } from "./server.js";
import { showCells } from "./cells.js";
import { decide } from "./decisions.js";

const TABS = ["map", "scores", "cells", "classical", "components"];
const SHOWN = { map: ["figure-map"], scores: ["figure-scores"], classical: ["figure-again", "figure-classical"] };
let view = null;
let data = null;
let tab = "map";
let fetched = null;
let chosen = null;
const rowListeners = [];
export const onRow = (act) => rowListeners.push(act);

// A row is known by its number; figures know the rows they draw by position.
export const chooseRow = (row, from = "") => {
  chosen = row;
  if (view && from !== "figure") {
    const at = row === null ? -1 : data.row.indexOf(row);
    view.choose(at < 0 ? null : at);
  }
  rowListeners.forEach((act) => act(row, from));
};
const drawTab = () => {
  if (!view) return;
  if (tab === "components") {
    view.drawScree();
    view.drawLoadings();
    return;
  }
  for (const id of SHOWN[tab] || []) {
    if (!view.pointFigures[id]) continue;
    const fresh = !view.positions[id];
    view.positions[id] = view.pointFigures[id]();
    if (fresh) view.listen(id);
  }
};
export const redraw = () => {
  if (!view) return;
  drawTab();
  showCells(fetched.cells);
};
const showTab = (name, focus = false) => {
  tab = name;
  for (const other of TABS) {
    const button = element(`tab-${other}`);
    button.setAttribute("aria-selected", String(other === name));
    button.tabIndex = other === name ? 0 : -1;
    element(`panel-${other}`).hidden = other !== name;
  }
  if (focus) element(`tab-${name}`).focus();
  drawTab();
  window.dispatchEvent(new Event("resize"));
};
const fillSelects = () => {
  const k = data.scores.length;
  for (const [id, otherwise] of [["score-x", 0], ["score-y", 1]]) {
    const box = element(id);
    const before = Number(box.value || otherwise);
    box.replaceChildren(...data.scores.map((_, j) => {
      const option = make("option", `component ${j + 1}`);
      option.value = j;
      return option;
    }));
    box.value = before < k ? before : Math.min(otherwise, k - 1);
    box.parentElement.hidden = k < 2;
  }
  element("arrows").parentElement.hidden = k < 2;
};
const showSelection = () => {
  const rows = view ? [...view.state.selection] : [];
  element("selected").hidden = !rows.length;
  element("selected-text").textContent = `${count(rows.length)} ${rows.length === 1 ? "row is" : "rows are"} selected.`;
};
const renew = async (version) => {
  const answer = await trying(() => get(`api/figures?fit=${version}`));
  if (!answer || !state.fit || version !== state.fit.version) return;
  for (const id of ["figure-map", "figure-scores", "figure-again", "figure-classical", "figure-scree", "figure-loadings"]) Plotly.purge(id);
  fetched = answer;
  data = answer.figures;
  fillSelects();
  view = views(data);
  view.on("row", () => chooseRow(view.state.row === null ? null : data.row[view.state.row], "figure"));
  view.on("selection", showSelection);
  view.setDragging(element("dragging").value);
  element("note-map").textContent = [state.fit.fitted > data.points.length ? `${count(data.points.length)} of ${count(state.file.rows)} rows are drawn: the furthest out, and others at random.` : "", view.logNote(data.map)].join(" ");
  element("tab-classical").hidden = !data.classical;
  if (!data.classical && tab === "classical") tab = "map";
  showTab(tab);
  showCells(answer.cells);
  showSelection();
  if (chosen !== null) {
    const at = data.row.indexOf(chosen);
    view.state.row = at < 0 ? null : at;
    if (at >= 0) view.drawPoints();
    rowListeners.forEach((act) => act(chosen));
  }
  document.documentElement.dataset.fit = version;
};
export const buildFigures = () => {
  let last = null;
  let file = null;
  onState(() => {
    const version = state.fit ? state.fit.version : null;
    if (state.file && state.file.id !== file) {
      file = state.file.id;
      chooseRow(null);
    }
    if (version === last) return;
    last = version;
    if (version !== null) renew(version);
  });
  for (const name of TABS) {
    element(`tab-${name}`).addEventListener("click", () => showTab(name));
    element(`tab-${name}`).addEventListener("keydown", (event) => {
      const shown = TABS.filter((other) => !element(`tab-${other}`).hidden);
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) showTab(shown[(shown.indexOf(name) + by + shown.length) % shown.length], true);
    });
  }
  showTab("map");
  for (const id of ["score-x", "score-y", "arrows"]) element(id).addEventListener("change", drawTab);
  element("close").addEventListener("change", () => {
    element("close").dataset.chosen = "yes"; // and is not asked again after the next fit
    drawTab();
  });
  element("dragging").addEventListener("change", () => view?.setDragging(element("dragging").value));
  element("selected-clear").addEventListener("click", () => view.select([]));
  element("selected-aside").addEventListener("click", () => {
    const rows = [...view.state.selection].map((i) => data.row[i]);
    view.select([]);
    decide("aside", { rows });
  });
};
