// The state of the session lives on the server; every tab shows what it says there.
export let state = { version: -1, file: null, job: null, error: "" };
const listeners = [];
export const onState = (act) => listeners.push(act);

const take = (fresh) => {
  state = "file" in fresh ? fresh : { ...state, ...fresh };
  listeners.forEach((act) => act(state));
  return state;
};
const answer = async (path, options) => {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is tl1pca explore still running?");
  }
  if (response.ok) return response;
  let said = `The server answered ${response.status}.`;
  try {
    said = (await response.json()).error || said;
  } catch { /* not JSON */ }
  throw new Error(said);
};
export const get = async (path) => (await answer(path)).json();
export const getFile = async (path) => (await answer(path)).blob();
export const send = async (name, body = {}) =>
  take(await (await answer(`api/do/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json());
export const upload = async (file) =>
  take(await (await answer(`api/file?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file })).json());

// What goes wrong is said in one place.
let complain = () => {};
export const onProblem = (act) => { complain = act; };
export const trying = async (act) => {
  try {
    return await act();
  } catch (problem) {
    complain(problem.message);
    return undefined;
  }
};
export const perform = (name, body) => trying(() => send(name, body));

// Often while something is computed; now and then otherwise, for what other tabs do.
let timer = null;
const refresh = async () => {
  clearTimeout(timer);
  try {
    take(await get(`api/state?version=${state.version}`));
  } catch (problem) {
    complain(problem.message);
  }
  timer = setTimeout(refresh, document.hidden ? 15000 : state.job ? 200 : 2500);
};
export const begin = () => {
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  onState(() => {
    if (!state.job) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, 200);
  });
  return refresh();
};
