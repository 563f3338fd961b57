import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../data/api.ts';
import { Button } from './button.tsx';

interface WaitingProps {
  readonly lines?: number;
  /** The class of what comes; undefined: lines in a card, as of a table. */
  readonly shape?: 'figures' | 'columns' | undefined;
}

/** Placeholders while data loads, in the shape of what comes, so that the page does not jump. */
export function Waiting({ lines = 6, shape }: WaitingProps) {
  return (
    <div className={`waiting ${shape ?? 'card'}`} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

export type Tone = 'good' | 'warn' | 'bad' | 'none';

export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {children}
    </div>
  );
}

/** Shown in place of an empty list, with the next step. */
export function Empty(props: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** An error. With `retry` it is one of loading, and has a button that tries again. Without, it is one of an action. */
export function Problem({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const refused = error instanceof ApiError && error.status === 403;
  return (
    <Notice tone="bad">
      <p>
        {retry !== undefined && <strong>{refused ? 'You may not see this.' : 'This could not be loaded.'} </strong>}
        {error.message}
      </p>
      {retry !== undefined && !refused && (
        <p style={{ marginTop: 8 }}>
          <Button size="small" onPress={retry}>
            Try again
          </Button>
        </p>
      )}
    </Notice>
  );
}

interface LoadedProps<Data> extends WaitingProps {
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
}

/** The data of a query, or its state. Data of an older selection stays visible while that of the new one loads, and is dimmed. */
export function Loaded<Data>({ query, children, ...waiting }: LoadedProps<Data>): ReactNode {
  const problem = query.isError && <Problem error={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return problem || <Waiting {...waiting} />;
  return (
    <div className="loaded" aria-busy={query.isPlaceholderData}>
      {problem}
      {children(query.data)}
    </div>
  );
}
