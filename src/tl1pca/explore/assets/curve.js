// How many components: the curves of select_n_components, and the choice.
import { count, element } from "./text.js";
import { onState, perform, state } from "./server.js";
import { fit } from "./settings.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const layout = (x, y) => ({
  xaxis: { title: { text: x }, dtick: 1, gridcolor: color("grid"), zeroline: false },
  yaxis: { title: { text: y }, gridcolor: color("grid"), zeroline: false, rangemode: "tozero" },
  paper_bgcolor: color("paper"), plot_bgcolor: color("paper"), font: { color: color("ink"), size: 12 },
  margin: { l: 60, r: 10, t: 10, b: 44 }, legend: { orientation: "h", y: 1.12 }, hovermode: "closest",
});
const config = { responsive: true, displayModeBar: false };
const draw = () => {
  const { chosen, errors, spread, eigenvalues, noise } = state.curve;
  const counts = errors.map((_, k) => k);
  const line = (x, y, name, fill) => ({ type: "scatter", mode: "lines+markers", x, y, name, line: { color: fill }, marker: { size: 8 } });
  Plotly.react("figure-errors", [
    { ...line(counts, errors, "error", "#0072b2"), error_y: { type: "data", array: spread, color: color("edge") }, showlegend: false },
    { type: "scatter", mode: "markers", x: [chosen], y: [errors[chosen]], name: "chosen", showlegend: false, hoverinfo: "skip",
      marker: { symbol: "circle-open", size: 20, color: "#d55e00", line: { width: 3 } } },
  ], layout("components", "error"), config);
  const ranks = eigenvalues.map((_, k) => k + 1);
  Plotly.react("figure-eigenvalues", [line(ranks, eigenvalues, "of the rows", "#0072b2"), line(ranks, noise, "of noise, at most", color("edge"))],
    layout("component", "eigenvalue"), config);
  for (const id of ["figure-errors", "figure-eigenvalues"]) {
    element(id).removeAllListeners?.("plotly_click");
    element(id).on("plotly_click", (event) => { element("curve-k").value = Math.max(1, event.points[0].x); });
  }
};
const open = () => {
  const { chosen, trusted, rows } = state.curve;
  element("curve-words").textContent =
    `${count(chosen)} ${chosen === 1 ? "component predicts" : "components predict"} the cells best, from the ${count(trusted)} of ${count(rows)} rows that the fit trusts. Click a point for another number.`;
  element("curve-k").value = state.settings.n_components ?? chosen;
  element("curve-k").max = state.settings.columns.length;
  element("curve-dialog").showModal();
  draw();
};
export const buildCurve = () => {
  let waiting = false;
  element("curve").addEventListener("click", async () => {
    const begun = await perform("curve");
    waiting = begun !== undefined;
  });
  onState(() => {
    if (!waiting || state.job) return;
    waiting = false;
    if (state.curve && !state.error) open();
  });
  element("curve-close").addEventListener("click", () => element("curve-dialog").close());
  element("curve-take").addEventListener("click", () => {
    element("curve-dialog").close();
    fit({ n_components: Number(element("curve-k").value) });
  });
};
