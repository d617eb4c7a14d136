// The form of what is analyzed. What a person is changing is not overwritten by what the server says.
import { count, element, make } from "./text.js";
import { onState, perform, state } from "./server.js";
import { chosenColumns } from "./columns.js";

let edited = false;
export const markEdited = () => {
  edited = true;
  element("stale").textContent = "Press Fit to follow these choices.";
};
const fill = (id, entries, chosen) => {
  const box = element(id);
  box.replaceChildren(...entries.map(([value, text]) => {
    const option = make("option", text);
    option.value = value;
    return option;
  }));
  box.value = chosen;
};
const METHOD_WORDS = {
  subspace: "bad rows", cell: "bad cells, bad rows, missing values", tl1: "a few bad rows, the paper's way (Tl1PCA)",
  l1: "PCA-L1, to compare", r1: "moderately bad rows (R1-PCA)", pca: "nothing: classical PCA",
};
export const wanted = () => ({
  columns: chosenColumns(),
  method: element("method").value,
  scale: element("scale").value,
  missing: element("missing").value,
  n_components: element("k-auto").checked ? null : Number(element("k").value),
});
export const fit = (changes = {}) => {
  edited = false;
  return perform("fit", { settings: { ...wanted(), ...changes } });
};
const show = () => {
  const { settings, accepts, fit: found, label } = state;
  if (!settings) return;
  const { methods, scales, missing } = accepts;
  element("stale").textContent = edited ? "Press Fit to follow these choices."
    : found && found.stale ? "Decided since this fit: press Fit." : "";
  element("fit").textContent = found ? "Fit again" : "Fit";
  element("fit").disabled = Boolean(state.job);
  if (edited) return;
  fill("method", Object.keys(methods).map((name) => [name, METHOD_WORDS[name] || name]), settings.method);
  fill("scale", Object.entries(scales), settings.scale);
  fill("missing", Object.entries(missing), settings.missing);
  const columns = [...state.texts, ...state.numbers];
  fill("label", [["", label === null && state.labeled ? "the first column" : "by their numbers"], ...columns.map((name) => [name, name])], label ?? "");
  element("k-auto").checked = settings.n_components === null;
  element("k-set").checked = settings.n_components !== null;
  if (settings.n_components !== null || found) element("k").value = settings.n_components ?? found.components;
  element("k").max = settings.columns.length;
  showMethod();
};
const showMethod = () => {
  const name = element("method").value;
  const own = state.accepts.methods[name];
  element("method-note").textContent = own ? `${own[0]}${state.fit && !edited ? `, ${count(state.fit.components)} ${state.fit.components === 1 ? "component" : "components"}` : ""}.` : "";
  element("missing-field").hidden = name === "cell" || !(state.missing || state.aside.cells);
  element("scale").disabled = name === "cell";
  element("scale").title = name === "cell" ? "This method has a unit for every column." : "";
};
export const buildSettings = () => {
  element("settings").addEventListener("submit", (event) => {
    event.preventDefault();
    fit();
  });
  for (const id of ["method", "scale", "missing", "k-auto", "k-set"]) {
    element(id).addEventListener("change", () => {
      markEdited();
      showMethod();
    });
  }
  element("k").addEventListener("input", () => {
    element("k-set").checked = true;
    markEdited();
  });
  element("label").addEventListener("change", () => perform("label", { label: element("label").value || null }));
  onState(show);
};
