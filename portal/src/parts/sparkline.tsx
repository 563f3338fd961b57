interface SparklineProps {
  /** From the oldest to the newest. */
  readonly values: readonly number[];
  /** What it shows, for screen readers: `12 requests in 24 hours`. */
  readonly label: string;
}

const [width, height] = [72, 14];

/** A small line without axes. Nothing happened: a flat line. */
export function Sparkline({ values, label }: SparklineProps) {
  const most = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`,
  );
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
