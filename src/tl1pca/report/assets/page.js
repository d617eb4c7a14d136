// ------------------------------------------------------------------ the page comes to life
const fillSelects = () => {
  for (const [id, chosen] of [["score-x", 0], ["score-y", 1]]) {
    const box = element(id);
    if (!box) continue;
    data.scores.forEach((_, j) => box.add(new Option(`component ${j + 1}`, j, j === chosen, j === chosen)));
    box.addEventListener("change", () => { positions["figure-scores"] = drawScores(); });
  }
  const redraw = () => { positions["figure-scores"] = drawScores(); };
  element("arrows")?.addEventListener("change", redraw);
  element("close").addEventListener("change", (event) => {
    event.target.dataset.chosen = "yes";
    redraw();
  });
  element("dragging").addEventListener("change", (event) => setDragging(event.target.value));
};
// The library is in the page, compressed; its text has the hash that the policy of the page lets run.
const loadLibrary = async () => {
  const packed = new Blob([Uint8Array.from(atob(element("library").textContent), (c) => c.charCodeAt(0))]);
  const script = document.createElement("script");
  script.textContent = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(script);
  script.remove();
};
const drawAll = async () => {
  if (!window.DecompressionStream) {
    element("too-old").hidden = false;
    return;
  }
  await loadLibrary();
  for (const id of ["note-map", "note-again"]) if (element(id)) element(id).textContent = logNote(data.map);
  if (data.time && (data.map.logX || data.map.logY)) element("note-charts").textContent = "An axis with rows very far out is logarithmic.";
  if (data.classical) element("note-classical").textContent = logNote(data.classical.map);
  const pause = () => new Promise((resolve) => setTimeout(resolve)); // the page answers between two figures
  for (const [id, draw] of Object.entries(pointFigures)) {
    positions[id] = draw();
    listen(id);
    await pause();
  }
  for (const draw of [drawScree, drawLoadings]) {
    draw();
    await pause();
  }
  document.documentElement.dataset.ready = "yes";
};

buildTheme();
buildLevel();
buildCells();
buildRow();
buildSearch();
buildTable();
fillSelects();
drawAll();
