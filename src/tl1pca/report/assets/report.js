"use strict";
// Names come from the data. They reach the page as textContent, or through plain() where Plotly reads markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const KINDS = ["regular", "good leverage", "orthogonal outlier", "bad leverage"];
  const MARKERS = [
    { symbol: "circle", color: "#8b95a0", size: 6, opacity: 0.55 },
    { symbol: "diamond", color: "#0072b2", size: 9, opacity: 0.9 },
    { symbol: "triangle-up", color: "#e69f00", size: 10, opacity: 0.95 },
    { symbol: "square", color: "#d55e00", size: 8, opacity: 0.9 },
  ];
  const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c6773", "#000000"];

  // ------------------------------------------------------------------ text
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const number = (x) => {
    if (x === null) return "–";
    const size = Math.abs(x);
    if (size === 0) return "0";
    const text = size >= 1e5 || size < 1e-3 ? x.toExponential(2) : size >= 100 ? x.toFixed(0) : x.toPrecision(3);
    return text.replace("-", "−");
  };
  const times = (x) => (x > 1000 ? "> 1000" : number(x));
  const value = (i, rank) => {
    const x = data.values[rank][i];
    if (data.byScore[i]) return Math.round(100 * x) + " %";
    return (x > 0 ? "+" : "") + number(x);
  };
  const unusual = (i, most) =>
    data.variables[i].map((j, rank) => `${shorten(data.names[j], most)} ${value(i, rank)}`);
  const rowName = (i) =>
    data.label === null ? `Row ${data.row[i]}` : `${shorten(data.label[i], 60)} (row ${data.row[i]})`;
  const hover = (i) =>
    [
      `<b>${plain(rowName(i))}</b>, ${KINDS[data.flag[i]]}`,
      data.byScore[i] ? "share of the squared score distance:" : "residual, in usual spreads:",
      ...unusual(i, 40).map(plain),
    ].join("<br>");

  // ------------------------------------------------------------------ figures
  const narrow = window.matchMedia("(max-width: 34rem)").matches;
  const axis = (title, more) => ({
    title: { text: title, standoff: 8 }, automargin: true, zeroline: false,
    gridcolor: "#e8edf1", linecolor: "#aab4bd", ...more,
  });
  const layout = (x, y, more) => ({
    xaxis: x, yaxis: y,
    font: { family: 'system-ui, "Segoe UI", Roboto, sans-serif', size: 13, color: "#1d2630" },
    margin: { l: 56, r: 12, t: 34, b: 48 },
    paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    hovermode: "closest", hoverlabel: { bgcolor: "#fff", bordercolor: "#aab4bd", align: "left", font: { color: "#1d2630" } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
    ...more,
  });
  const config = {
    responsive: true, displaylogo: false, scrollZoom: false,
    displayModeBar: narrow ? false : "hover", modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
  };
  const texts = data.points.map(hover);
  const mapTexts = data.points.map(
    (i, p) => `${texts[p]}<br>score distance ${number(data.sd[i])}, orthogonal ${number(data.od[i])}`);

  // One trace per kind, so that the legend names them and a kind can be hidden.
  const rowTraces = (x, y, text) =>
    KINDS.map((name, flag) => {
      const chosen = [...data.points.keys()].filter((p) => data.flag[data.points[p]] === flag);
      return {
        type: "scatter", mode: "markers", name, marker: MARKERS[flag],
        x: chosen.map((p) => x[p]), y: chosen.map((p) => y[p]),
        hovertext: chosen.map((p) => text[p]), hoverinfo: "text",
      };
    }).filter((trace) => trace.x.length);

  // A logarithmic axis has no zero: distances far below the limit are drawn at a hundredth of it.
  const lifted = (values, logarithmic, limit) =>
    logarithmic ? values.map((v) => Math.max(v, limit / 100)) : values;

  const drawMap = (id, sd, od, map, text) => {
    const limitY = Math.max(...map.limitY);
    const x = lifted(sd, map.logX, map.scoreLimit);
    const y = lifted(od, map.logY, map.limitY[0]);
    const line = { color: "#5c6773", width: 1.2, dash: "dash" };
    const limit = { type: "scatter", mode: "lines", line, hoverinfo: "skip", showlegend: false };
    const top = Math.max(limitY, ...y) * (map.logY ? 1.6 : 1.05);
    const bottom = map.logY ? Math.min(...y) / 1.3 : 0;
    const right = Math.max(map.scoreLimit, ...x) * (map.logX ? 1.4 : 1.05);
    const left = map.logX ? Math.min(...x) / 1.3 : 0;
    const range = (low, high, log) =>
      log ? { type: "log", range: [Math.log10(low), Math.log10(high)] } : { range: [low - 0.02 * high, high] };
    Plotly.newPlot(id, [
      { ...limit, x: lifted(map.limitX, map.logX, map.scoreLimit), y: map.limitY },
      { ...limit, x: [map.scoreLimit, map.scoreLimit], y: [bottom, top] },
      ...rowTraces(x, y, text),
    ], layout(
      axis("score distance", range(left, right, map.logX)),
      axis("orthogonal distance", range(bottom, top, map.logY))), config);
  };
  const logNote = (map) =>
    !map.logX && !map.logY ? ""
      : `The ${map.logX && map.logY ? "axes are" : map.logX ? "horizontal axis is" : "vertical axis is"} logarithmic.`;

  const drawScores = () => {
    const pick = (id, otherwise) => (element(id) ? Number(element(id).value) : otherwise);
    const a = pick("score-x", 0);
    const b = pick("score-y", Math.min(1, data.scores.length - 1));
    const single = data.scores.length === 1;
    const x = single ? data.points.map((i) => data.row[i]) : data.scores[a];
    Plotly.react("figure-scores", rowTraces(x, data.scores[b], texts), layout(
      axis(single ? "row" : `component ${a + 1}`), axis(`component ${b + 1}`)), config);
  };

  const drawScree = () => {
    const components = data.shares.map((_, j) => j + 1);
    const bars = (name, shares, color) => ({
      type: "bar", name, x: components, y: shares.map((s) => 100 * s), marker: { color },
      hovertemplate: `${name}, component %{x}: %{y:.3g} %<extra></extra>`,
    });
    const traces = [bars("fitted", data.shares, "#0072b2")];
    if (data.classical) traces.push(bars("classical", data.classical.shares, "#c3cad1"));
    Plotly.newPlot("figure-scree", traces, layout(
      axis("component", { dtick: 1 }), axis("share of the variance in %", { rangemode: "tozero" }),
      { bargap: 0.35, showlegend: true }), config);
  };

  const drawLoadings = () => {
    const { variables, components } = data.loadings;
    const few = variables.length <= 40;
    const positions = variables.map((_, j) => j);
    const names = variables.map((j) => data.names[j]);
    const traces = components.map((loadings, j) => ({
      ...(few ? { type: "bar", marker: { color: LINES[j % LINES.length] } }
        : { type: "scatter", mode: "lines", line: { width: 1.6, color: LINES[j % LINES.length] } }),
      name: `component ${j + 1}`, x: positions, y: loadings, visible: j < 3 ? true : "legendonly",
      hovertext: names.map((name, v) => `${plain(shorten(name, 60))}<br>component ${j + 1}: ${number(loadings[v])}`),
      hoverinfo: "text",
    }));
    const most = few ? 40 : 8;
    const step = Math.ceil(variables.length / most);
    const ticks = positions.filter((j) => j % step === 0);
    const labels = ticks.map((j) => plain(shorten(names[j], 16)));
    Plotly.newPlot("figure-loadings", traces, layout(
      axis("", { tickvals: ticks, ticktext: labels, tickangle: "auto" }),
      axis("loading", { zeroline: true, zerolinecolor: "#aab4bd" }),
      { showlegend: true }), config);
  };

  const of = (values) => data.points.map((i) => values[i]);
  const drawFitted = (id) => drawMap(id, of(data.sd), of(data.od), data.map, mapTexts);
  const drawClassical = () => {
    const { sd, od, map } = data.classical;
    drawMap("figure-classical", sd, od, map, data.points.map(
      (_, p) => `${texts[p]}<br>classical: score distance ${number(sd[p])}, orthogonal ${number(od[p])}`));
    element("note-classical").textContent = logNote(map);
  };
  const fillSelects = () => {
    for (const [id, chosen] of [["score-x", 0], ["score-y", 1]]) {
      const select = element(id);
      if (!select) continue;
      data.scores.forEach((_, j) => select.add(new Option(`component ${j + 1}`, j, j === chosen, j === chosen)));
      select.addEventListener("change", drawScores);
    }
  };
  const drawAll = async () => {
    element("note-map").textContent = logNote(data.map);
    fillSelects();
    const figures = [() => drawFitted("figure-map"), drawScores, drawScree, drawLoadings];
    if (data.classical) figures.push(drawClassical, () => drawFitted("figure-again"));
    for (const figure of figures) {
      figure();
      await new Promise((resolve) => setTimeout(resolve)); // the page answers between two figures
    }
    document.documentElement.dataset.ready = "yes";
  };

  // ------------------------------------------------------------------ table
  const PAGE = 20;
  const columns = [
    { title: "row", key: (i) => data.row[i], number: true },
    { title: "label", key: (i) => data.label[i], show: (i) => shorten(data.label[i], 80), name: true, absent: data.label === null },
    { title: "kind", key: (i) => data.flag[i], show: (i) => KINDS[data.flag[i]] },
    { title: "times limit", key: (i) => data.times[i], show: (i) => times(data.times[i]), number: true },
    { title: "score distance", key: (i) => data.sd[i], show: (i) => number(data.sd[i]), number: true },
    { title: "orthogonal distance", key: (i) => data.od[i], show: (i) => number(data.od[i]), number: true },
    { title: "most unusual variables", key: (i) => data.names[data.variables[i][0]], show: (i) => unusual(i, 24).join(", "), wrap: true },
    { title: "classical PCA", key: (i) => data.alsoClassical[i], show: (i) => (data.alsoClassical[i] ? "flags it" : "does not"), absent: data.classical === null },
  ].filter((column) => !column.absent);

  const buildTable = () => {
    const table = element("table");
    if (!table) return;
    let order = [...Array(data.listed).keys()];
    let page = 0;
    const show = () => {
      const from = page * PAGE;
      const shown = order.slice(from, from + PAGE);
      table.tBodies[0].replaceChildren(...shown.map((i) => {
        const line = document.createElement("tr");
        for (const column of columns) {
          const cell = line.insertCell();
          cell.className = column.number ? "number" : column.wrap ? "wrap" : column.name ? "name" : "";
          if (column.title === "kind") {
            const mark = document.createElement("span");
            mark.className = `mark mark-${data.flag[i]}`;
            mark.setAttribute("aria-hidden", "true");
            cell.append(mark);
          }
          cell.append(String((column.show || column.key)(i)));
        }
        return line;
      }));
      const count = (n) => n.toLocaleString("en");
      element("range").textContent = `${count(from + 1)}–${count(from + shown.length)} of ${count(order.length)}`;
      element("previous").disabled = page === 0;
      element("following").disabled = from + PAGE >= order.length;
    };
    const sortBy = (column, head) => {
      // The first click on numbers puts the largest on top, on names the first of the alphabet.
      const before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : Boolean(column.number) && column.title !== "row";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      const keys = Array.from({ length: data.listed }, (_, i) => column.key(i));
      order.sort((i, j) => sign * (typeof keys[i] === "string" ? compare(keys[i], keys[j]) : keys[i] - keys[j]) || i - j);
      page = 0;
      show();
    };
    for (const column of columns) {
      const head = document.createElement("th");
      head.scope = "col";
      head.className = column.number ? "number" : "";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.title;
      button.addEventListener("click", () => sortBy(column, head));
      head.append(button);
      if (column.title === "times limit") head.setAttribute("aria-sort", "descending");
      table.tHead.rows[0].append(head);
    }
    element("previous").addEventListener("click", () => { page -= 1; show(); });
    element("following").addEventListener("click", () => { page += 1; show(); });
    element("export").addEventListener("click", () => save("flagged_rows.csv", csv(order)));
    show();
  };

  // ------------------------------------------------------------------ export
  // A spreadsheet takes text that begins with these signs for a formula; an apostrophe keeps it text.
  const cell = (x) => {
    if (x === null) return "";
    if (typeof x === "number") return String(x);
    const text = /^[\s]*[=+\-@\t\r]/.test(x) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(x) ? `'${x}` : x;
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const csv = (order) => {
    const ranks = data.values.map((_, rank) => rank);
    const head = ["row", ...(data.label ? ["label"] : []), "kind", "times_limit", "score_distance", "orthogonal_distance",
      ...(data.classical ? ["flagged_by_classical_pca"] : []), "measure",
      ...ranks.flatMap((rank) => [`variable_${rank + 1}`, `value_${rank + 1}`])];
    const lines = order.map((i) => [
      data.row[i], ...(data.label ? [data.label[i]] : []), KINDS[data.flag[i]], data.times[i], data.sd[i], data.od[i],
      ...(data.classical ? [data.alsoClassical[i]] : []),
      data.byScore[i] ? "share of squared score distance" : "residual in robust spreads",
      ...ranks.flatMap((rank) => [data.names[data.variables[i][rank]], data.values[rank][i]])]);
    return [head, ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  };
  const save = (name, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  buildTable();
  drawAll();
})();
