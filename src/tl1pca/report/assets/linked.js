// ------------------------------------------------------------------ figures that know each other
const pointFigures = { "figure-map": () => drawFitted("figure-map"), "figure-scores": drawScores };
if (data.time) {
  pointFigures["figure-score-chart"] = drawScoreChart;
  pointFigures["figure-orthogonal-chart"] = drawOrthogonalChart;
}
if (data.classical) {
  pointFigures["figure-classical"] = drawClassical;
  pointFigures["figure-again"] = () => drawFitted("figure-again");
}
const positions = {}; // of a row in each figure
const drawPoints = () => {
  for (const [id, draw] of Object.entries(pointFigures)) if (positions[id]) positions[id] = draw();
};
const listen = (id) => {
  const figure = element(id);
  figure.on("plotly_click", (event) => {
    const i = event.points.map((point) => point.customdata).find((row) => row !== undefined);
    if (i !== undefined) choose(i);
  });
  figure.on("plotly_selected", (event) => {
    if (event && event.points) select(event.points.map((point) => point.customdata).filter((i) => i !== undefined));
  });
  figure.on("plotly_deselect", () => select([]));
};
on("row", () => {
  for (const [id, at] of Object.entries(positions)) {
    const { x, y } = ring(at.x, at.y);
    Plotly.restyle(id, { x: [x], y: [y] }, [element(id).data.length - 1]);
  }
});
on("selection", drawPoints);
on("level", drawPoints);

const setDragging = (mode) => {
  dragging = mode;
  for (const id of Object.keys(positions)) Plotly.relayout(id, { dragmode: mode });
};

// ------------------------------------------------------------------ the cell map
const buildCells = () => {
  const lines = [...document.querySelectorAll(".cell-row")];
  for (const line of lines) {
    const show = () => choose(Number(line.dataset.row));
    line.addEventListener("click", show);
    line.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show();
    });
  }
  on("row", () => lines.forEach((line) => line.classList.toggle("chosen", Number(line.dataset.row) === state.row)));
};

// ------------------------------------------------------------------ the slider of the level
const showLevel = () => {
  const { level, score, orthogonal, counts } = data.levels.at[state.level];
  const flagged = counts[1] + counts[2] + counts[3];
  const own = state.level === data.levels.chosen ? ", as fitted" : "";
  element("level").setAttribute("aria-valuetext", `${level}, ${count(flagged)} rows beyond a limit`);
  element("level-text").textContent =
    `${level}${own}: ${count(flagged)} ${flagged === 1 ? "row" : "rows"} beyond a limit. Limits: score distance ` +
    `${number(score)}, orthogonal distance ${number(orthogonal)}.` +
    (own ? "" : " The sentences of this page are those of the fit.");
  counts.forEach((rows, flag) => { element(`count-${flag}`).textContent = count(rows); });
};
const buildLevel = () => {
  const slider = element("level");
  if (!slider) return;
  slider.max = data.levels.at.length - 1;
  slider.value = data.levels.chosen;
  slider.addEventListener("input", () => setLevel(Number(slider.value)));
  on("level", showLevel);
  showLevel();
};

// ------------------------------------------------------------------ light and dark
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const redraw = () => {
  drawPoints();
  drawScree();
  drawLoadings();
};
const PAPER = 660; // pixels between the margins of a page
const setTheme = (theme) => {
  document.documentElement.dataset.theme = theme;
  element("theme").textContent = theme === "dark" ? "Light" : "Dark";
  if (document.documentElement.dataset.ready) redraw();
};
const buildTheme = () => {
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  element("theme").addEventListener("click", () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  // Paper is white, and as wide as paper is.
  let before = "light";
  const resize = (size) => document.querySelectorAll(".js-plotly-plot").forEach((figure) => Plotly.relayout(figure, size));
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    if (before === "dark") setTheme("light");
    resize({ width: PAPER });
  });
  window.addEventListener("afterprint", () => {
    if (before === "dark") setTheme(before);
    resize({ width: null, autosize: true });
  });
};
