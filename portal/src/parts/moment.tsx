import { formatAgo, formatMoment, formatPreciseMoment, formatUntil, formatZonedMoment } from '../format/format.ts';

// Moments of the API in tables. The tooltip of each has the exact moment.

interface MomentProps {
  readonly at: string;
}

/** For example `24 Nov 2026, 17:05`. */
export function Moment({ at }: MomentProps) {
  return (
    <time className="nowrap" dateTime={at} title={formatPreciseMoment(at)}>
      {formatMoment(at)}
    </time>
  );
}

/** For example `3 hours ago`. */
export function Ago({ at }: MomentProps) {
  return (
    <time className="nowrap" dateTime={at} title={formatPreciseMoment(at)}>
      {formatAgo(at)}
    </time>
  );
}

/** The last use of a key or a token. */
export function LastUsed({ at }: { readonly at: string | null }) {
  return at === null ? <span className="muted">Never</span> : <Ago at={at} />;
}

/** The end of a key or a token: in hours if it is soon. The tooltip has the zone, too. */
export function Until({ at }: MomentProps) {
  return (
    <time className="nowrap" dateTime={at} title={formatZonedMoment(at)}>
      {formatUntil(at)}
    </time>
  );
}
