// The cell map: the worst cells, each a button that opens its row.
import { count, element, make, shorten, shortNames, signed } from "./text.js";
import { state } from "./server.js";
import { chooseRow } from "./figures.js";

const FULL = 8; // deviations at which a color is full
const shade = (x) => {
  const part = Math.min(Math.abs(x) / FULL, 1);
  return `color-mix(in srgb, ${x > 0 ? "#d55e00" : "#0072b2"} ${Math.round(100 * part)}%, var(--pale))`;
};
const brief = (x) => (Math.abs(x) > 999 ? (x > 0 ? "> 999" : "< −999") : `${x > 0 ? "+" : "−"}${Math.abs(x).toFixed(Math.abs(x) < 10 ? 1 : 0)}`);
export const showCells = ({ rows, labels, columns, residuals, marked }) => {
  const judges = state.fit && state.fit.judgesCells;
  element("cells-note").textContent = !rows.length ? (judges ? "No cell is bad." : "No row is flagged.")
    : judges ? `${count(state.fit.cells)} cells do not fit the others of their row; these are the worst, in deviations from what the others say. Orange is above, blue below.`
      : "Residuals of the flagged rows, in usual spreads: how far each cell is from what the components say. To have every cell judged, look for bad cells.";
  const head = element("cells").tHead.rows[0];
  const short = shortNames(columns, 24);
  head.replaceChildren(document.createElement("td"), ...columns.map((name, j) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.title = name;
    cell.append(make("span", short[j]));
    return cell;
  }));
  element("cells").tBodies[0].replaceChildren(...rows.map((row, i) => {
    const line = document.createElement("tr");
    const name = make("th", labels ? shorten(labels[i], 20) : `row ${row}`);
    name.scope = "row";
    line.append(name, ...residuals[i].map((x, j) => {
      const cell = document.createElement("td");
      const button = make("button", x !== null && marked[i][j] ? brief(x) : "");
      button.type = "button";
      button.tabIndex = marked[i][j] ? 0 : -1;
      button.setAttribute("aria-label", `${columns[j]} of ${labels ? labels[i] : `row ${row}`}: ${x === null ? "missing" : `${signed(x)} spreads`}`);
      button.title = button.getAttribute("aria-label");
      if (x !== null) button.style.background = shade(x);
      button.classList.toggle("strong", x !== null && Math.abs(x) > FULL / 2);
      button.addEventListener("click", () => chooseRow(row));
      cell.append(button);
      return cell;
    }));
    return line;
  }));
};
