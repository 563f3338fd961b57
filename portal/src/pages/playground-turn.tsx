import { speedOf } from '../data/chat.ts';
import type { ChatImage } from '../data/chat-request.ts';
import { formatCount, formatMoney, formatMs, formatSpeed, orUnknown } from '../format/format.ts';
import { Card, Facts } from '../parts/page.tsx';
import { Problem } from '../parts/states.tsx';
import type { AnswerState, TurnState } from './playground-conversation.ts';

/** A question, and its answers side by side as far as they have arrived. */
export function Turn({ of: { question, answers } }: { readonly of: TurnState }) {
  return (
    <Card>
      <div className="stack">
        <div className="stack-tight">
          <h3>You</h3>
          <p className="answer-text">{question.text}</p>
          {question.images.length > 0 && <Images of={question.images} />}
        </div>
        <div className="answers">
          {answers.map((one, at) => (
            <Answer key={at} of={one} />
          ))}
        </div>
      </div>
    </Card>
  );
}

function Images({ of }: { readonly of: readonly ChatImage[] }) {
  return (
    <div className="actions">
      {of.map(({ name, url }, at) => (
        <img key={at} className="asked-image" src={url} alt={name} />
      ))}
    </div>
  );
}

/** Why an answer ended early, as engines say it. */
const finishes: Readonly<Record<string, string>> = {
  length: 'Cut off: max tokens or the context is used up.',
  content_filter: 'Ended by a content filter.',
};

function Answer({ of: { model, answer, end } }: { readonly of: AnswerState }) {
  const { reasoning, text, calls, finish, firstTokenMs, usage } = answer;
  const isUnderWay = end === 'under-way';
  const speed = speedOf(answer);
  const count = (value: number | undefined): string => orUnknown(value, formatCount);
  return (
    <section className="stack-tight answer" aria-label={`Answer of ${model}`} aria-busy={isUnderWay}>
      <h3>{model}</h3>
      {reasoning !== '' && (
        <details open={text === '' && calls.length === 0}>
          <summary>Reasoning</summary>
          <p className="reasoning">{reasoning}</p>
        </details>
      )}
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
        {end === 'stopped' && 'Stopped. What was delivered is billed.'}
        {end === 'complete' &&
          (finishes[finish ?? ''] ?? <span className="visually-hidden">The answer is complete.</span>)}
      </p>
      <Facts
        facts={[
          { name: 'Time to first token', value: orUnknown(firstTokenMs, formatMs) },
          { name: 'Speed', value: orUnknown(speed, formatSpeed) },
          { name: 'Cost', value: orUnknown(usage?.cost, formatMoney) },
          { name: 'Prompt tokens', value: count(usage?.prompt_tokens) },
          { name: 'Output tokens', value: count(usage?.completion_tokens) },
        ]}
      />
    </section>
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
