// The page: every part listens to the state, and asks the server to change it.
import { count, element, make } from "./text.js";
import { begin, onProblem, onState, perform, state, trying, upload } from "./server.js";
import { buildSettings } from "./settings.js";
import { buildColumns } from "./columns.js";
import { buildCurve } from "./curve.js";
import { buildFigures, redraw } from "./figures.js";
import { buildTable } from "./table.js";
import { buildRow } from "./row.js";
import { buildDecisions } from "./decisions.js";

// ------------------------------------------------------------------ files
const load = (file) => { if (file) trying(() => upload(file)); };
const buildLoading = () => {
  const input = element("file");
  for (const id of ["another", "choose-file"]) element(id).addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    load(input.files[0]);
    input.value = "";
  });
  let inside = 0;
  const cover = (shown) => { element("dropping").hidden = !shown; };
  document.addEventListener("dragenter", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    inside += 1;
    cover(true);
  });
  document.addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); cover(inside > 0); });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    cover(false);
    load(event.dataTransfer.files[0]);
  });
};

// ------------------------------------------------------------------ progress and problems
const showProblem = (text) => {
  element("problem").hidden = !text;
  element("problem-text").textContent = text;
};
const buildProgress = () => {
  onProblem(showProblem);
  element("problem-close").addEventListener("click", () => showProblem(""));
  element("cancel").addEventListener("click", () => perform("cancel"));
  let [said, busy] = ["", false];
  onState(() => {
    const { job, error } = state;
    if (error !== said || (busy && !job)) showProblem(error);
    [said, busy] = [error, Boolean(job)];
    // What is done at once needs no bar.
    element("job").hidden = !job || job.seconds < 0.3;
    if (!job) return;
    element("job-text").textContent = `${job.text} … ${job.seconds.toFixed(0)} s`;
    const bar = element("job-bar");
    bar.max = job.total;
    if (job.done) bar.value = job.done;
    else bar.removeAttribute("value");
  });
};

// ------------------------------------------------------------------ what was found
const list = (id, sentences) => element(id).replaceChildren(...sentences.map((text) => make("li", text)));
const showFound = () => {
  const { fit, file } = state;
  element("welcome").hidden = Boolean(file) || Boolean(state.job);
  element("work").hidden = !file;
  element("file-name").textContent = file ? file.name : "";
  document.title = file ? `${file.name} · tl1pca explore` : "tl1pca explore";
  element("file-about").textContent = file ? `${count(file.rows)} rows, ${count(state.columns.length)} columns` : "";
  element("another").textContent = file ? "Load another file" : "Load a file";
  if (!file) return;
  element("found").hidden = !fit;
  list("notes", [...file.notes, ...(fit ? fit.notes : [])]);
  element("notes-details").hidden = !file.notes.length && !(fit && fit.notes.length);
  if (!fit) return;
  element("tiles").replaceChildren(...fit.tiles.map(([value, meaning]) => {
    const tile = document.createElement("li");
    tile.append(make("strong", value), ` ${meaning}`);
    return tile;
  }));
  list("findings", fit.findings);
  list("advice", fit.advice);
  list("comparison", fit.comparison);
  element("advice-warning").hidden = !fit.warning;
  element("advice-warning").textContent = fit.warning;
};
const buildLevel = () => {
  const slider = element("level");
  const say = (at) => {
    const { fit } = state;
    const flagged = fit.counts[1] + fit.counts[2] + fit.counts[3];
    const level = fit.levels[at];
    element("level-text").textContent = level === fit.level
      ? `${level}: ${count(flagged)} ${flagged === 1 ? "row" : "rows"} beyond a limit` : `${level}`;
    slider.setAttribute("aria-valuetext", element("level-text").textContent);
  };
  slider.addEventListener("input", () => say(Number(slider.value)));
  slider.addEventListener("change", () => perform("level", { level: state.fit.levels[Number(slider.value)] }));
  onState(() => {
    const levels = state.fit && state.fit.levels;
    element("level-field").hidden = !levels;
    if (!levels || document.activeElement === slider && slider.matches(":active")) return;
    slider.max = levels.length - 1;
    slider.value = levels.indexOf(state.fit.level);
    say(Number(slider.value));
  });
};

// ------------------------------------------------------------------ light and dark
const buildTheme = () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    element("theme").textContent = theme === "dark" ? "Light" : "Dark";
    redraw();
  };
  set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  element("theme").addEventListener("click", () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
};

buildTheme();
buildLoading();
buildProgress();
onState(showFound);
buildLevel();
buildSettings();
buildColumns();
buildCurve();
buildDecisions();
buildFigures();
buildRow();
buildTable();
begin().then(() => { document.documentElement.dataset.ready = "yes"; });
