import { formatCount } from '../format/format.ts';

const [width, height] = [72, 14];

/** Counts of requests as a small line without axes, from the oldest to the newest. Screen readers read their sum. */
export function Sparkline({ counts }: { readonly counts: readonly number[] }) {
  const [most, sum] = [Math.max(1, ...counts), counts.reduce((all, one) => all + one, 0)];
  const step = width / (counts.length - 1);
  const points = counts.map((count, at) => `${at * step},${height - 1 - (count / most) * (height - 2)}`);
  const label = `${formatCount(sum)} ${sum === 1 ? 'request' : 'requests'}`;
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
    >
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.4" />
    </svg>
  );
}
