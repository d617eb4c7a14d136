// What the rows of `data` are called, and what is unusual about them.
const FLAGS = data.flags;
const value = (i, rank) => {
  const x = data.values[rank][i];
  return data.byScore[i] ? percent(x) : signed(x);
};
const unusual = (i, most) =>
  data.variables[i]
    .map((j, rank) => `${shorten(data.names[j], most)} ${value(i, rank)}`)
    .filter((_, rank) => data.values[rank][i] !== null);
const rowName = (i, most = 60) =>
  data.label === null ? `Row ${data.row[i]}` : `${shorten(data.label[i], most)} (row ${data.row[i]})`;
