import { formatAgo, formatMoment, formatPreciseMoment, formatUntil, formatZonedMoment } from '../format/format.ts';

// Moments of the API in tables. The tooltip of each has the exact moment.

interface MomentProps {
  readonly at: string;
}

interface TimeProps extends MomentProps {
  readonly title?: string;
  readonly children: string;
}

function Time({ at, title = formatPreciseMoment(at), children }: TimeProps) {
  return (
    <time className="nowrap" dateTime={at} title={title}>
      {children}
    </time>
  );
}

/** For example `24 Nov 2026, 17:05`. */
export const Moment = ({ at }: MomentProps) => <Time at={at}>{formatMoment(at)}</Time>;

/** For example `3 hours ago`. */
export const Ago = ({ at }: MomentProps) => <Time at={at}>{formatAgo(at)}</Time>;

/** The last use of a key or a token. */
export function LastUsed({ at }: { readonly at: string | null }) {
  return at === null ? <span className="muted">Never</span> : <Ago at={at} />;
}

/** The end of a key or a token: in hours if it is soon. The tooltip has the zone, too. */
export function Until({ at }: MomentProps) {
  return (
    <Time at={at} title={formatZonedMoment(at)}>
      {formatUntil(at)}
    </Time>
  );
}
