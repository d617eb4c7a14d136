// What the rows of `data` are called, and what is unusual about them.
const FLAGS = data.flags;
const shortened = new Map(); // by length
const columnName = (j, most) => {
  if (!shortened.has(most)) shortened.set(most, shortNames(data.names, most));
  return shortened.get(most)[j];
};
const value = (i, rank) => {
  const x = data.values[rank][i];
  return data.byScore[i] ? percent(x) : signed(x);
};
const unusual = (i, most) =>
  data.variables[i]
    .map((j, rank) => `${columnName(j, most)} ${value(i, rank)}`)
    .filter((_, rank) => data.values[rank][i] !== null);
const rowName = (i, most = 60) =>
  data.label === null ? `Row ${data.row[i]}` : `${shorten(data.label[i], most)} (row ${data.row[i]})`;
