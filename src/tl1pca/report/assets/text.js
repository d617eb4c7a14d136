// Names come from the data. They reach the page as textContent, or through plain() where Plotly reads markup.
const element = (id) => document.getElementById(id);

const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
// Beginning and end tell names apart.
const shorten = (text, most) => {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 4);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
};
// Names of one list. Those that would look the same show the part in which they differ.
const shortNames = (names, most) => {
  const groups = new Map();
  for (const name of new Set(names)) {
    const short = shorten(name, most);
    if (!groups.has(short)) groups.set(short, []);
    groups.get(short).push(name);
  }
  const found = new Map();
  for (const [short, alike] of groups) {
    const least = Math.min(...alike.map((name) => name.length));
    const same = (at) => alike.every((name) => name.at(at) === alike[0].at(at));
    let [begin, end] = [0, 0];
    while (begin < least && same(begin)) begin += 1;
    while (end < least - begin && same(-1 - end)) end += 1;
    for (const name of alike) {
      const first = Math.max(0, Math.min(begin, name.length - end - (most - 2)));
      const word = first ? name.slice(first, begin).indexOf(" ") + 1 : 0; // from the next word on
      const cut = name.slice(first + word, first + most - 2);
      found.set(name, alike.length === 1 || name.length <= most ? short : `${first + word ? "…" : ""}${cut}…`);
    }
  }
  return names.map((name) => found.get(name));
};
const count = (n) => n.toLocaleString("en");
const number = (x) => {
  if (x === null || Number.isNaN(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(2) : size >= 100 ? x.toFixed(0) : x.toPrecision(3);
  return text.replace("-", "−");
};
// Values as they were measured keep more digits than what is computed from them.
const measured = (x, digits = 6) => (Number.isNaN(x) ? "missing" : String(Number(x.toPrecision(digits))).replace("-", "−"));
const signed = (x) => (x > 0 ? "+" : "") + number(x);
const percent = (x) => `${Math.round(100 * x)}\u00a0%`.replace("-", "−");
const times = (x) => (x > 1000 ? "> 1000" : number(x));
// An element with text, which is never markup.
const make = (tag, text = "", className = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
};
const flagMark = (flag) => {
  const mark = make("span", "", `mark mark-${flag}`);
  mark.setAttribute("aria-hidden", "true");
  return mark;
};
