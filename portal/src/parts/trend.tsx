import { formatShare, unknown } from '../format/format.ts';

interface TrendProps {
  readonly now: number;
  /** Undefined: not known. */
  readonly before: number | undefined;
  /** The value before, in its format: the text then ends with it. */
  readonly was?: string | undefined;
  /** More is bad, such as more errors. More cost is not. */
  readonly isBad?: boolean;
}

/** How much a value changed, such as `▲ 18% vs. $2,970`. The arrow is drawn: few fonts have it. */
export function Trend({ now, before, was, isBad = false }: TrendProps) {
  if (before === undefined) return unknown;
  if (now === before) return 'unchanged';
  if (before === 0) return was === undefined ? 'new' : 'none before';
  const isMore = now > before;
  return (
    <span className="nowrap trend" data-tone={isBad && isMore ? 'bad' : undefined}>
      <span aria-hidden className="trend-arrow" data-direction={isMore ? 'up' : 'down'} />
      <span className="visually-hidden">{isMore ? 'up' : 'down'}</span> {formatShare(Math.abs(now - before) / before)}
      {was !== undefined && ` vs. ${was}`}
    </span>
  );
}
