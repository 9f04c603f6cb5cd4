/* What the explorers and the calculator draw with: elements, numbers as text, charts, and inputs on a slider. */

(() => {
  'use strict';

  /* A slider's position is linear in the value or, with `log`, in its logarithm; `whole` rounds. */
  const slider = (name, label, low, high, start, options = {}) => ({kind: 'slider', name, label, low, high, start, ...options});
  const choice = (name, label, options) => ({kind: 'choice', name, label, options});
  const LOG = {log: true}, WHOLE = {log: true, whole: true};

  const toValue = (input, position) => {
    const value = input.log ? Math.exp(Number(position)) : Number(position);
    return input.whole ? Math.round(value) : value;
  };
  const toPosition = (input, value) => (input.log ? Math.log(value) : value);
  const shown = (value, whole = Number.isInteger(value)) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? say('none') : say('∞ (no guarantee)');
    if (whole) return value.toLocaleString('en');
    return value !== 0 && (value >= 1e5 || value < 1e-3) ? value.toExponential(3) : value.toPrecision(4);
  };

  /* A cost of privacy is never rounded down: the smallest number of four digits that is not below the value. */
  function upwards(value) {
    if (!(value > 1e-300) || !Number.isFinite(value)) return value;
    const unit = 10 ** (Math.floor(Math.log10(value)) - 3), up = Math.ceil(value / unit * (1 - 1e-14)) * unit;
    return Number(up.toPrecision(4));
  }
  const cost = value => shown(upwards(value), Number.isInteger(value));

  function element(tag, attributes = {}, ...children) {
    const svg = ['svg', 'path', 'line', 'circle', 'text', 'g'].includes(tag);
    const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const COLORS = 9;  // classes line-0 to line-8 of compendium.css

  const LABELS = {basic: say('basic'), advanced: say('advanced'), optimal: say('optimal'), numerical: say('numerical'), older: say('older')};  // of lines

  const LOGARITHMIC = {to: Math.log, shows: v => v > 0}, LINEAR = {to: v => v, shows: () => true};

  /* At most seven round numbers from `low` to `high`; on a logarithmic axis, their powers of ten. */
  function ticks(axis, [low, high]) {
    const found = [];
    if (axis === LINEAR) {
      const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
      for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
      return found;
    }
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const steps = last - first > 3 ? [1] : [1, 2, 5], every = Math.ceil((last - first) / 6);
    for (let power = first; power <= last; power += every) found.push(...steps.map(step => step * 10 ** power));
    return found.filter(v => v >= low && v <= high);
  }

  /* Lines, each named at its right end, and perhaps a point; the axes are logarithmic unless `linear`. */
  function chart({x, y, lines, linear = false}, mark = []) {
    const width = 460, height = 290, left = 58, right = 66, top = 12, bottom = 44;
    const axis = linear ? LINEAR : LOGARITHMIC, drawn = p => p.every(v => Number.isFinite(v) && axis.shows(v));
    const points = Object.values(lines).flat().filter(drawn);
    const made = element('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': say('{y} against {x}', {x, y})});
    if (!points.length) {
      made.append(element('text', {x: left, y: height / 2}, say('no finite value here')));
      return made;
    }
    const range = (i, pad) => [linear && i ? 0 : Math.min(...points.map(p => p[i])) / pad, Math.max(...points.map(p => p[i])) * pad];
    const [xs, ys] = [range(0, 1), range(1, 1.15)];
    const share = (v, [low, high]) => (axis.to(v) - axis.to(low)) / (axis.to(high) - axis.to(low));
    const px = v => left + (width - left - right) * share(v, xs);
    const py = v => height - bottom - (height - top - bottom) * share(v, ys);
    const label = v => (v && (Math.abs(v) >= 1e4 || Math.abs(v) < 1e-2) ? v.toExponential(0).replace('e+', 'e') : String(Number(v.toPrecision(2))));
    for (const v of ticks(axis, xs)) made.append(element('line', {x1: px(v), x2: px(v), y1: top, y2: height - bottom}),
      element('text', {x: px(v), y: height - bottom + 17, 'text-anchor': 'middle'}, label(v)));
    for (const v of ticks(axis, ys)) made.append(element('line', {x1: left, x2: width - right, y1: py(v), y2: py(v)}),
      element('text', {x: left - 6, y: py(v) + 4, 'text-anchor': 'end'}, label(v)));
    made.append(element('text', {x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle'}, x),
      element('text', {x: 14, y: (top + height - bottom) / 2, 'text-anchor': 'middle',
        transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, y));
    const ends = [];
    Object.entries(lines).forEach(([name, line], i) => {
      const kept = line.filter(drawn);
      if (!kept.length) return;
      const path = kept.map(p => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join(' L');
      made.append(element('path', {d: `M${path}`, class: `line-${i % COLORS}`}));
      ends.push({name, i, y: py(kept[kept.length - 1][1]) + 4});
    });
    ends.sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => { if (i) end.y = Math.max(end.y, ends[i - 1].y + 13); });
    const below = ends.length ? Math.max(0, ends[ends.length - 1].y - (height - bottom + 4)) : 0;
    if (ends.length > 1) for (const end of ends) {
      made.append(element('text', {x: width - right + 6, y: end.y - below, class: `line-${end.i % COLORS}`}, LABELS[end.name] ?? end.name));
    }
    const [mx, my] = mark;
    if (Number.isFinite(my) && my >= ys[0] && my <= ys[1] && mx >= xs[0] && mx <= xs[1]) {
      made.append(element('circle', {cx: px(mx), cy: py(my), r: 5}));
    }
    return made;
  }

  Object.assign(compendium, {slider, choice, LOG, WHOLE, toValue, toPosition, shown, upwards, cost, element, chart});
})();
