import { useEffect, useRef } from 'react';
import { ApiError } from '../data/api.ts';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Card } from '../parts/page.tsx';
import { Problem } from '../parts/states.tsx';
import type { AnswerState, TurnState } from './playground-conversation.ts';
import { ServedFacts } from './served-facts.tsx';

interface TurnProps {
  readonly of: TurnState;
  /** Asks the model at a place once more. Undefined: an answer is coming in, or later questions build on this one. */
  readonly onRetry: ((at: number) => void) | undefined;
}

/** A question, and its answers side by side as far as they have arrived. A new one scrolls into view. */
export function Turn({ of: { question, answers }, onRetry }: TurnProps) {
  const own = useRef<HTMLDivElement>(null);
  useEffect(() => own.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <Card>
      <div className="stack turn" ref={own}>
        <div className="stack-tight">
          <h3>You</h3>
          <p className="answer-text">{question.text}</p>
          <div className="actions">
            {question.images.map(({ name, url }, at) => (
              <img key={at} className="asked-image" src={url} alt={name} />
            ))}
          </div>
        </div>
        <div className="answers">
          {answers.map((one, at) => (
            <Answer key={at} of={one} onRetry={onRetry && (() => onRetry(at))} />
          ))}
        </div>
      </div>
    </Card>
  );
}

/** Why an answer ended early, as engines say it. */
const finishes: Readonly<Record<string, string>> = {
  length: 'Cut off: max tokens or the context is used up.',
  content_filter: 'Ended by a content filter.',
};

interface AnswerProps {
  readonly of: AnswerState;
  readonly onRetry: (() => void) | undefined;
}

/** Its parts are rows that the answers of a turn share, so that texts begin, and figures stand, at the same height. */
function Answer({ of: { model, requestId, answer, end }, onRetry }: AnswerProps) {
  const { reasoning, text, calls, usage } = answer;
  const isUnderWay = end === 'under-way';
  return (
    <section className="answer" aria-label={`Answer of ${model}`} aria-busy={isUnderWay}>
      <div className="actions">
        <h3>{model}</h3>
        {text !== '' && !isUnderWay && <Copy text={text} label={`the answer of ${model}`} size="small" />}
        {onRetry !== undefined && (
          <Button size="small" aria-label={`Retry ${model}`} onPress={onRetry}>
            Retry
          </Button>
        )}
      </div>
      <div>
        {reasoning !== '' && (
          <details open={text === '' && calls.length === 0}>
            <summary>Reasoning</summary>
            <p className="reasoning">{reasoning}</p>
          </details>
        )}
      </div>
      <Said answer={answer} end={end} />
      {/* A request that was refused has no figures. */}
      <ServedFacts requestId={requestId} hasEnded={!isUnderWay && !(end instanceof ApiError)} usage={usage} />
    </section>
  );
}

function Said({ answer: { text, calls, finish }, end }: Pick<AnswerState, 'answer' | 'end'>) {
  const isUnderWay = end === 'under-way';
  return (
    <div className="stack-tight">
      <p className="answer-text">{text === '' && isUnderWay ? '…' : text}</p>
      {calls.map(({ id, name, arguments: given }) => (
        <div key={id} className="stack-tight">
          <p className="small">
            Calls <strong>{name}</strong>
          </p>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
          <pre className="code" tabIndex={0} role="region" aria-label={`Arguments of ${name}`}>
            {indented(given)}
          </pre>
        </div>
      ))}
      {end instanceof Error && <Problem error={end} />}
      <p className="small muted" role="status">
        {isUnderWay && 'The answer is coming in.'}
        {end === 'stopped' && 'Stopped. Weir bills the delivered part.'}
        {end === 'complete' &&
          (finishes[finish ?? ''] ?? <span className="visually-hidden">The answer is complete.</span>)}
      </p>
    </div>
  );
}

/** JSON on several lines. Text that is not whole yet stays as it is. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
