import type { ChatAnswer } from '../data/chat.ts';
import { formatCount, formatMoney, formatMs, unknown } from '../format/format.ts';
import { Card, Facts } from '../parts/page.tsx';
import { Problem } from '../parts/states.tsx';

export interface TurnState {
  readonly question: string;
  readonly answer: ChatAnswer;
  /** How the answer ended. After an error, the rest of the answer is missing. */
  readonly end: 'under-way' | 'complete' | 'stopped' | Error;
}

/** A question, and its answer as far as it has arrived. */
export function Turn({ of: { question, answer, end } }: { readonly of: TurnState }) {
  const { reasoning, text, firstTokenMs, usage } = answer;
  const isUnderWay = end === 'under-way';
  return (
    <Card>
      <div className="stack">
        <div>
          <h3>You</h3>
          <p className="answer-text">{question}</p>
        </div>
        <div className="stack-tight" aria-busy={isUnderWay}>
          <h3>Answer</h3>
          {reasoning !== '' && (
            <details open={text === ''}>
              <summary>Reasoning</summary>
              <p className="reasoning">{reasoning}</p>
            </details>
          )}
          <p className="answer-text">{text === '' && isUnderWay ? '…' : text}</p>
          {end instanceof Error && <Problem error={end} />}
          <p className="small muted" role="status">
            {isUnderWay && 'The answer is coming in.'}
            {end === 'stopped' && 'Stopped. What was delivered is billed.'}
            {end === 'complete' && <span className="visually-hidden">The answer is complete.</span>}
          </p>
        </div>
        <Facts
          facts={[
            { name: 'Prompt tokens', value: usage === undefined ? unknown : formatCount(usage.prompt_tokens) },
            { name: 'Output tokens', value: usage === undefined ? unknown : formatCount(usage.completion_tokens) },
            { name: 'Cost', value: usage?.cost === undefined ? unknown : formatMoney(usage.cost) },
            { name: 'Time to first token', value: firstTokenMs === undefined ? unknown : formatMs(firstTokenMs) },
          ]}
        />
      </div>
    </Card>
  );
}
