import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartDataset,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from 'chart.js';
import { useEffect, useRef } from 'react';
import { useShownTheme } from '../shell/theme.ts';
import { colourOf, type Named } from './legend.tsx';

Chart.register(
  BarController,
  BarElement,
  LineController,
  LineElement,
  PointElement,
  CategoryScale,
  LinearScale,
  Tooltip,
);

export interface Series extends Named {
  /** One value for each label. Null: unknown. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly kind: 'stacked' | 'lines';
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

/**
 * The current colours of tokens, which a canvas cannot read. They are read in one call, because each call makes the
 * browser compute the styles again.
 */
function coloursOf(names: readonly string[]): readonly string[] {
  const box = document.createElement('span');
  const probes = names.map((name) => {
    const probe = document.createElement('span');
    probe.style.color = `var(${name})`;
    return probe;
  });
  box.append(...probes);
  document.body.append(box);
  const found = probes.map((probe) => getComputedStyle(probe).color);
  box.remove();
  return found;
}

/** One series as the library takes it. */
export function datasetOf(
  { name, values }: Series,
  colour: string,
  kind: ChartProps['kind'],
): ChartDataset<'bar' | 'line', (number | null)[]> {
  const data = [...values];
  // A line breaks where nothing was measured. A value between two breaks is drawn as a point.
  const isKnown = (index: number): boolean => typeof data[index] === 'number';
  const radii = data.map((_, index) => (isKnown(index - 1) || isKnown(index + 1) ? 0 : 3));
  return kind === 'stacked'
    ? { type: 'bar', label: name, data, backgroundColor: colour, maxBarThickness: 34, stack: 'all' }
    : {
        ...({ type: 'line', label: name, data, borderColor: colour, backgroundColor: colour } as const),
        ...{ borderWidth: 2, pointRadius: radii, pointHitRadius: 12, tension: 0.2 },
      };
}

/** A chart of the values in the table beside it. Screen readers read the table. */
export function TimeChart({ kind, labels, series, format }: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useShownTheme();
  useEffect(() => {
    if (canvas.current === null) return;
    const [text = '', line = '', ...fills] = coloursOf(['--muted', '--border', ...series.map(colourOf)]);
    const font = { family: getComputedStyle(document.body).fontFamily, size: 11 };
    const chart = new Chart<'bar' | 'line', (number | null)[], string>(canvas.current, {
      type: kind === 'stacked' ? 'bar' : 'line',
      data: { labels: [...labels], datasets: series.map((one, index) => datasetOf(one, fills[index] ?? '', kind)) },
      options: {
        ...{ animation: false, responsive: true, maintainAspectRatio: false },
        interaction: { mode: 'index', intersect: false },
        scales: {
          x: {
            stacked: kind === 'stacked',
            grid: { display: false },
            border: { color: line },
            ticks: { color: text, font, maxRotation: 0, autoSkipPadding: 16 },
          },
          y: {
            ...{ stacked: kind === 'stacked', beginAtZero: true, border: { display: false }, grid: { color: line } },
            ticks: { color: text, font, maxTicksLimit: 6, callback: (value) => format(Number(value)) },
          },
        },
        plugins: {
          tooltip: {
            ...{ bodyFont: { ...font, size: 12 }, titleFont: { ...font, size: 12 }, boxPadding: 4 },
            filter: ({ parsed }) => parsed.y !== 0,
            callbacks: {
              label: ({ dataset, parsed }) => ` ${dataset.label ?? ''}: ${format(parsed.y ?? 0)}`,
              // The parts of a stack have a sum; times do not.
              footer: (items) =>
                kind === 'stacked'
                  ? `Total: ${format(items.reduce((sum, { parsed }) => sum + (parsed.y ?? 0), 0))}`
                  : '',
            },
          },
        },
      },
    });
    return () => chart.destroy();
  }, [kind, labels, series, format, theme]);
  return (
    <div className="chart" aria-hidden>
      <canvas ref={canvas} />
    </div>
  );
}
