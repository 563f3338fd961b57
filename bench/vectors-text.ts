import { alignTable } from './table.ts';
import type { CallFigure, LargeFigure, VectorFigures } from './vectors.ts';

const names = { plain: 'plain Envoy', peer: 'peer', before: 'before', weir: 'Weir' } as const;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** The median of a figure's ratio to plain Envoy's of the same round. */
function ratio<Figure extends CallFigure | LargeFigure>(
  own: readonly Figure[],
  plain: readonly Figure[],
  read: (figure: Figure) => number,
): string {
  if (own[0]?.target === 'plain') return '';
  return median(own.map((figure, round) => read(figure) / read(plain[round] ?? figure))).toFixed(1);
}

function callRows(calls: readonly CallFigure[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(calls, ({ target, encoding }) => `${target} ${encoding}`);
  return [...groups.values()].map((own) => {
    const [{ target, encoding } = { target: 'plain', encoding: '' }] = own;
    const plain = groups.get(`plain ${encoding}`) ?? own;
    return [
      `${encoding}, ${names[target as keyof typeof names]}`,
      `${median(own.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(0)} µs`,
      ratio(own, plain, ({ cpuMicroseconds }) => cpuMicroseconds),
      `${median(own.map(({ p50Ms }) => p50Ms)).toFixed(1)} ms`,
      ratio(own, plain, ({ p50Ms }) => p50Ms),
    ];
  });
}

function largeRows(large: readonly LargeFigure[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(large, ({ target, form, encoding }) => `${target} ${form} ${encoding}`);
  return [...groups.values()].map((own) => {
    const [{ target, form, encoding } = { target: 'plain', form: '', encoding: '' }] = own;
    // Plain Envoy passes on what the engine sends.
    const plain = [...groups.values()].find(([one]) => one?.target === 'plain' && one.encoding === encoding) ?? [];
    const added = own.map(({ ms }, round) => ms - (plain[round]?.ms ?? NaN));
    const growths = own.map(({ growth }) => growth);
    return [
      `${form} of the engine, ${encoding}, ${names[target as keyof typeof names]}`,
      `${median(own.map(({ ms }) => ms)).toFixed(0)} ms`,
      target === 'plain' ? '' : `${median(added).toFixed(0)} ms`,
      `${((own[0]?.bytes ?? 0) / 1e6).toFixed(0)} MB`,
      median(growths).toFixed(2),
      Math.max(...growths).toFixed(2),
    ];
  });
}

/** The tables of `--vectors`. */
export function vectorsText({ calls, large }: VectorFigures): string {
  const one = alignTable([
    ['64 callers, one input of 100 tokens', 'processor time', '÷ plain', 'p50', '÷ plain'],
    ...callRows(calls),
  ]);
  const many = alignTable([
    ['2,048 inputs, 1,024 dimensions', 'time', 'added', 'in flight', 'growth ÷ in flight', 'highest'],
    ...largeRows(large),
  ]);
  return `${one}\n\n${many}`;
}
