// What was decided, in words; how it is taken back; and what is taken along.
import { element, make } from "./text.js";
import { getFile, onState, perform, state, trying } from "./server.js";

// A decision, and the fit that follows it.
export const decide = async (name, body = {}) => {
  const after = await perform(name, body);
  if (after && after.fit && after.fit.stale && !after.job && element("auto").checked) await perform("fit");
};
const save = async (name) => {
  element("out-said").textContent = `Writing ${name} …`;
  const content = await trying(() => getFile(`out/${name}`));
  element("out-said").textContent = "";
  if (!content) return;
  const stem = state.file.name.replace(/\.[^.]*(\.gz)?$/, "") || "table";
  const named = { "cleaned.csv": `${stem}_cleaned.csv`, "flagged.csv": `${stem}_flagged.csv`, "report.html": `${stem}_report.html`, "model.npz": `${stem}_model.npz`, "script.py": `${stem}.py` }[name];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = named;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  element("out-said").textContent = `Saved as ${named}.`;
};
export const buildDecisions = () => {
  onState(() => {
    if (!state.file) return;
    const { decisions, aside } = state;
    element("decisions-none").hidden = Boolean(decisions.length);
    element("decisions").replaceChildren(...decisions.map((text) => make("li", text)));
    element("decisions").scrollTop = element("decisions").scrollHeight;
    element("undo").disabled = !state.undo || Boolean(state.job);
    element("all-back").disabled = !(aside.rows || aside.cells) || Boolean(state.job);
    for (const button of element("out").querySelectorAll("button")) button.disabled = !state.fit;
  });
  element("undo").addEventListener("click", () => decide("undo"));
  element("all-back").addEventListener("click", () => decide("all-back"));
  for (const button of element("out").querySelectorAll("button")) button.addEventListener("click", () => save(button.dataset.out));
};
