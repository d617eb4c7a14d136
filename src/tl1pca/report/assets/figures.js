// ------------------------------------------------------------------ colors, the same as in the figures of the package
const MARKERS = [
  { symbol: "circle", size: 6, opacity: 0.45 }, // its color has to stand out from the page
  { symbol: "square", color: "#009e73", size: 8, opacity: 0.85 },
  { symbol: "diamond", color: "#e69f00", size: 9, opacity: 0.9 },
  { symbol: "triangle-up", color: "#d55e00", size: 10, opacity: 0.9 },
  { symbol: "x-thin-open", color: "#8a95a0", size: 8, opacity: 0.9 }, // set aside, in tl1pca explore
];
const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a95a0", "#7f3c8d"];
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const narrow = window.matchMedia("(max-width: 34rem)").matches;
const FONT = 'system-ui, "Segoe UI", Roboto, sans-serif';
let dragging = "zoom";

const axis = (title, more) => ({
  title: { text: title, standoff: 8 }, automargin: true, zeroline: false,
  gridcolor: color("grid"), linecolor: color("edge"), ...more,
});
const layout = (x, y, more) => ({
  xaxis: x, yaxis: y, uirevision: "kept", dragmode: dragging,
  font: { family: FONT, size: 13, color: color("ink") },
  margin: { l: 56, r: 12, t: 34, b: 48 },
  paper_bgcolor: color("paper"), plot_bgcolor: color("paper"),
  hovermode: "closest",
  hoverlabel: { bgcolor: color("paper"), bordercolor: color("edge"), align: "left", font: { family: FONT, color: color("ink") } },
  legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
  ...more,
});
const config = {
  responsive: true, displaylogo: false, scrollZoom: false,
  displayModeBar: narrow ? false : "hover",
  modeBarButtons: [["zoom2d", "pan2d", "select2d", "lasso2d", "resetScale2d", "toImage"]],
};

const hover = (i) =>
  [
    `<b>${plain(rowName(i))}</b>, ${FLAGS[data.flag[i]]}`,
    data.byScore[i] ? "share of the squared score distance:" : "residual, in usual spreads:",
    ...unusual(i, 40).map(plain),
  ].join("<br>");

// ------------------------------------------------------------------ rows as points
// Position of a row among those drawn, for what is known of these alone.
const place = new Map(data.points.map((i, p) => [i, p]));
// One trace per flag, so that the legend names them and each can be hidden; the row that was chosen lies on top.
const rowTraces = (x, y, more) => {
  const traces = FLAGS.map((name, flag) => {
    const rows = data.points.filter((i) => data.flag[i] === flag);
    const trace = {
      type: "scatter", mode: "markers", name, marker: { color: color("regular"), ...MARKERS[flag] }, customdata: rows,
      x: rows.map(x), y: rows.map(y),
      hovertext: rows.map((i) => hover(i) + more(i)), hoverinfo: "text",
      unselected: { marker: { opacity: 0.12 } },
    };
    if (state.selection.size) trace.selectedpoints = [...rows.keys()].filter((p) => state.selection.has(rows[p]));
    return trace;
  }).filter((trace) => trace.x.length);
  return [...traces, ring(x, y)];
};
const ring = (x, y) => {
  const at = state.row === null ? [] : [[x(state.row), y(state.row)]].filter(([a, b]) => a !== undefined && b !== undefined);
  return {
    type: "scatter", mode: "markers", name: "chosen", showlegend: false, hoverinfo: "skip",
    x: at.map(([a]) => a), y: at.map(([, b]) => b),
    marker: { symbol: "circle-open", size: 20, color: color("ink"), line: { width: 3, color: color("ink") } },
  };
};

// A logarithmic axis has no zero: distances far below the limit are drawn at a hundredth of it.
const lifted = (logarithmic, limit) => (v) => (logarithmic ? Math.max(v, limit / 100) : v);
const mapFigure = (id, distances, map, limits, more) => {
  const { score, across, up } = limits();
  const [fx, fy] = [lifted(map.logX, score), lifted(map.logY, up[0])];
  const x = (i) => (distances.sd(i) === undefined ? undefined : fx(distances.sd(i)));
  const y = (i) => (distances.od(i) === undefined ? undefined : fy(distances.od(i)));
  const range = (values, log) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return log
      ? { type: "log", range: [Math.log10(low / 1.3), Math.log10(high * 1.5)] }
      : { range: [-0.02 * high, 1.05 * high || 1] };
  };
  const horizontal = range([...data.points.map(x), score || 0].filter((v) => v || !map.logX), map.logX);
  const vertical = range([...data.points.map(y), ...up], map.logY);
  const limit = {
    type: "scatter", mode: "lines", line: { color: color("soft"), width: 1.2, dash: "dash" }, hoverinfo: "skip", showlegend: false,
  };
  const lines = [{ ...limit, x: across.map(fx), y: up }];
  if (score !== null) {
    const ends = map.logY ? vertical.range.map((v) => 10 ** v) : [0, vertical.range[1]];
    lines.push({ ...limit, x: [score, score], y: ends });
  }
  Plotly.react(id, [...lines, ...rowTraces(x, y, more)],
    layout(axis("score distance", horizontal), axis("orthogonal distance", vertical)), config);
  return { x, y };
};
const logNote = (map) =>
  !map.logX && !map.logY ? ""
    : `The ${map.logX && map.logY ? "axes are" : map.logX ? "horizontal axis is" : "vertical axis is"} logarithmic.`;

const fittedLimits = () => {
  const { limitX, limitY, scoreLimit } = data.map;
  if (!data.levels) return { score: scoreLimit, across: limitX, up: limitY };
  const { score, orthogonal } = data.levels.at[state.level];
  return { score, across: limitX, up: limitX.map((sd) => orthogonalLimit(sd, orthogonal)) };
};
// The limit of the orthogonal distance of a row near the center.
const orthogonalBase = () => (data.levels ? data.levels.at[state.level].orthogonal : data.map.limitY[0]);
const fitted = { sd: (i) => data.sd[i], od: (i) => data.od[i] };
const drawFitted = (id) => mapFigure(id, fitted, data.map, fittedLimits,
  (i) => `<br>score distance ${number(data.sd[i])}, orthogonal ${number(data.od[i])}`);
const drawClassical = () => {
  const { sd, od, map } = data.classical;
  const distances = { sd: (i) => sd[place.get(i)], od: (i) => od[place.get(i)] };
  return mapFigure("figure-classical", distances, map,
    () => ({ score: map.scoreLimit, across: map.limitX, up: map.limitY }),
    (i) => `<br>classical: score distance ${number(distances.sd(i))}, orthogonal ${number(distances.od(i))}`);
};
// The columns with the longest loadings on two components, as arrows that reach as far as most rows do.
const MOST_ARROWS = 8;
const arrows = (a, b) => {
  const { variables, components } = data.loadings;
  const size = (scores) => scores.map(Math.abs).sort((s, t) => s - t)[Math.floor(0.9 * (scores.length - 1))] || 1;
  const loadings = variables.map((j, v) => ({ j, x: components[a][v], y: components[b][v] }));
  const length = (arrow) => Math.hypot(arrow.x, arrow.y);
  const longest = loadings.sort((p, q) => length(q) - length(p) || p.j - q.j).slice(0, MOST_ARROWS);
  const scale = Math.max(size(data.scores[a]), size(data.scores[b])) / (length(longest[0]) || 1);
  const drawn = longest.map(({ x, y }) => ({
    x: x * scale, y: y * scale, ax: 0, ay: 0, xref: "x", yref: "y", axref: "x", ayref: "y",
    showarrow: true, arrowhead: 2, arrowwidth: 1.5, arrowcolor: color("ink"), text: "",
  }));
  const gap = 0.12 * size(data.scores[b]); // names of arrows side by side stand one above the other
  const last = { left: -Infinity, right: -Infinity };
  const names = longest.sort((p, q) => p.y - q.y).map(({ j, x, y }) => {
    const side = x < 0 ? "right" : "left";
    last[side] = Math.max(y * scale * 1.08, last[side] + gap);
    return {
      x: x * scale * 1.08, y: last[side], showarrow: false, text: plain(columnName(j, 18)),
      xanchor: side, bgcolor: color("paper"), opacity: 0.85, font: { size: 12 },
    };
  });
  return drawn.concat(names);
};
// A row very far out leaves the others one spot; then the axes can be those of the regular rows, and are at first.
const CLOSE = 5; // widths of the regular rows that all take: from there on there is a choice
const TOO_FAR = 20; // from there on the regular rows cannot be told apart
const closeRange = (values) => {
  const regular = data.points.map((i, p) => [i, values[p]]).filter(([i]) => data.flag[i] === 0).map(([, v]) => v);
  const [low, high] = [Math.min(...regular), Math.max(...regular)];
  const times = (Math.max(...values) - Math.min(...values)) / (high - low);
  return regular.length > 1 && times > CLOSE
    ? { times, range: [low - 0.15 * (high - low), high + 0.15 * (high - low)] }
    : null;
};
const drawScores = () => {
  const pick = (id, otherwise) => (element(id) ? Number(element(id).value) : otherwise);
  const a = pick("score-x", 0);
  const b = pick("score-y", Math.min(1, data.scores.length - 1));
  const single = data.scores.length === 1;
  const x = single ? (i) => data.row[i] : (i) => data.scores[a][place.get(i)];
  const y = (i) => data.scores[b][place.get(i)];
  const found = [single ? null : closeRange(data.scores[a]), closeRange(data.scores[b])];
  const box = element("close");
  element("close-label").toggleAttribute("hidden", !found.some(Boolean));
  if (!box.dataset.chosen) box.checked = found.some((one) => one && one.times > TOO_FAR);
  const [across, up] = found.map((one) => (box.checked && one ? { range: one.range } : {}));
  const beyond = ({ range }, v) => Boolean(range) && (v < range[0] || v > range[1]);
  const outside = data.points.filter((i) => beyond(across, x(i)) || beyond(up, y(i))).length;
  element("outside").textContent = outside ? ` ${outside} ${outside === 1 ? "row lies" : "rows lie"} outside this figure.` : "";
  Plotly.react("figure-scores", rowTraces(x, y, () => ""), layout(
    axis(single ? "row" : `component ${a + 1}`, across), axis(`component ${b + 1}`, up),
    { uirevision: `${a} ${b} ${box.checked}`, annotations: element("arrows")?.checked ? arrows(a, b) : [] }), config);
  return { x, y };
};
// Distances in the order of time. Where all rows are drawn a line joins them, so that a drift can be seen.
const drawChart = (id, title, distance, limit, logarithmic) => {
  const up = lifted(logarithmic, limit);
  const x = (i) => data.time[i] ?? undefined;
  const y = (i) => up(distance[i]);
  const line = { type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false };
  const ordered = data.points.filter((i) => data.time[i] !== null);
  ordered.sort((i, j) => (data.time[i] < data.time[j] ? -1 : data.time[i] > data.time[j] ? 1 : i - j));
  const ends = ordered.length ? [ordered[0], ordered.at(-1)] : [];
  const lines = limit === null ? [] : [
    { ...line, line: { color: color("soft"), width: 1.2, dash: "dash" }, x: ends.map(x), y: ends.map(() => limit) },
  ];
  if (data.points.length === N) {
    lines.push({ ...line, line: { color: color("edge"), width: 1 }, x: ordered.map(x), y: ordered.map(y) });
  }
  const when = (i) => `<br>${typeof data.time[i] === "string" ? data.time[i].replace("T", " ") : `at ${data.time[i]}`}`;
  Plotly.react(id, [...lines, ...rowTraces(x, y, when)],
    layout(axis(""), axis(title, logarithmic ? { type: "log" } : { rangemode: "tozero" })), config);
  return { x, y };
};
const drawScoreChart = () =>
  drawChart("figure-score-chart", "score distance", data.sd, fittedLimits().score, data.map.logX);
const drawOrthogonalChart = () =>
  drawChart("figure-orthogonal-chart", "orthogonal distance", data.od, orthogonalBase(), data.map.logY);

// ------------------------------------------------------------------ components
const drawScree = () => {
  const components = data.shares.map((_, j) => j + 1);
  const bars = (name, shares, fill) => ({
    type: "bar", name, x: components, y: shares.map((s) => 100 * s), marker: { color: fill },
    hovertemplate: `${name}, component %{x}: %{y:.3g} %<extra></extra>`,
  });
  const traces = [bars("fitted", data.shares, "#0072b2")];
  if (data.classical) traces.push(bars("classical", data.classical.shares, color("edge")));
  Plotly.react("figure-scree", traces, layout(
    axis("component", { dtick: Math.ceil(components.length / 20) }), axis("share of the variance in %", { rangemode: "tozero" }),
    { bargap: 0.35, showlegend: true, dragmode: "zoom" }), config);
};
const MOST_BARS = 40;
const drawLoadings = () => {
  const { variables, components } = data.loadings;
  const few = variables.length <= MOST_BARS;
  const positions = variables.map((_, j) => j);
  const box = element("figure-loadings");
  if (few) box.style.height = `${Math.max(340, 90 + 24 * variables.length)}px`;
  const traces = components.map((loadings, j) => ({
    ...(few
      ? { type: "bar", orientation: "h", y: positions, x: loadings, marker: { color: LINES[j % LINES.length] } }
      : { type: "scatter", mode: "lines", x: positions, y: loadings, line: { width: 1.6, color: LINES[j % LINES.length] } }),
    name: `component ${j + 1}`, visible: j < 3 ? true : "legendonly",
    hovertext: variables.map((column, v) => `${plain(columnName(column, 60))}<br>component ${j + 1}: ${number(loadings[v])}`),
    hoverinfo: "text",
  }));
  // As many names as there is room for: bars have a line each, curves a name every 110 pixels between the margins.
  const step = few ? 1 : Math.ceil(variables.length / Math.max(2, Math.floor((box.clientWidth - 90) / 110)));
  const tickvals = positions.filter((j) => j % step === 0);
  const ticktext = tickvals.map((j) => plain(columnName(variables[j], few ? (narrow ? 16 : 26) : 12)));
  const zero = { zeroline: true, zerolinecolor: color("edge") };
  const named = { tickvals, ticktext, tickangle: 0 };
  const [x, y] = few
    ? [axis("loading", zero), axis("", { ...named, autorange: "reversed" })] // the first column on top
    : [axis("column", named), axis("loading", zero)];
  Plotly.react("figure-loadings", traces, layout(x, y, { showlegend: true, dragmode: "zoom", bargap: 0.25 }), config);
};
