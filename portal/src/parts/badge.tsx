import type { ReactNode } from 'react';
import type { State } from '../data/states.ts';
import type { Tone } from './states.tsx';

/** A state as a word. The colour repeats the word. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  );
}

/** The state of an object. */
export function StateBadge({ of: { word, tone } }: { readonly of: State }) {
  return <Badge tone={tone}>{word}</Badge>;
}

/** A share as a bar, and as text. */
export function Bar({ share, label }: { readonly share: number; readonly label: string }) {
  const shown = Math.min(1, Math.max(0, share));
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : undefined;
  return (
    <div className="bar">
      <div className="bar-track" aria-hidden>
        <div className="bar-fill" data-tone={tone} style={{ width: `${shown * 100}%` }} />
      </div>
      <span className="small muted nowrap number">{label}</span>
    </div>
  );
}
