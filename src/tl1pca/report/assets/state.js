// What the reader has chosen; every view listens and shows the same.
const state = { row: null, selection: new Set(), level: data.levels ? data.levels.chosen : 0 };
const listeners = { row: [], selection: [], level: [] };
const on = (what, act) => listeners[what].push(act);
const tell = (what) => listeners[what].forEach((act) => act());
const choose = (i) => {
  state.row = i;
  tell("row");
};
const select = (rows) => {
  state.selection = new Set(rows);
  tell("selection");
};

// ------------------------------------------------------------------ the level of the limits
const N = data.row.length;
// The cut-off of the orthogonal distance, longer for rows far out in a tilted subspace, as in tl1pca.diagnostics.
const orthogonalLimit = (sd, limit) => {
  const { tilt, mostTilt } = data.levels;
  if (tilt === null) return limit;
  const far = Math.min(sd, 1e150);
  return limit * Math.sqrt(1 + Math.min((far * far) / tilt, mostTilt));
};
const setLevel = (index) => {
  const { score, orthogonal } = data.levels.at[index];
  const across = score === null ? Infinity : score;
  state.level = index;
  for (let i = 0; i < N; i += 1) {
    const up = orthogonalLimit(data.sd[i], orthogonal);
    data.flag[i] = index === data.levels.chosen
      ? data.fitted[i]
      : (data.sd[i] > across ? 1 : 0) + (data.od[i] > up ? 2 : 0);
    data.times[i] = Math.min(Math.max(data.sd[i] / across, data.od[i] / Math.max(up, 1e-300)), 1e9);
  }
  tell("level");
};
