import type { AnswerIdentity, AskedAnswer, JsonWriter } from '../../../core/dialect.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';
import { pieceLength } from '../embeddings/write-response.ts';

/** The places of the documents from the best score down. Equal scores keep the order of the documents. */
const ranked = (scores: readonly number[]): readonly number[] =>
  scores.map((_, index) => index).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);

/** Assembles the scores of all pieces into one answer, in the form that clients of Cohere and Jina read. */
export function createJsonWriter({ id, model }: AnswerIdentity, { task }: Pick<AskedAnswer, 'task'>): JsonWriter {
  const scores: number[] = [];
  const { topN, returned } = task?.kind === 'rerank' ? task : {};

  /** The places of the results in the order in which they are written. */
  const best = (): readonly number[] => ranked(scores).slice(0, topN);

  function* write(bill: Bill): Generator<string> {
    let piece = `{"id":${JSON.stringify(id)},"model":${JSON.stringify(model)},"results":[`;
    for (const [at, index] of best().entries()) {
      const document = returned?.[index];
      const behind = document === undefined ? '' : `,"document":${document}`;
      piece += `${at === 0 ? '' : ','}{"index":${index},"relevance_score":${scores[index]}${behind}}`;
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = '';
    }
    yield `${piece}],${writeUsage(bill)}}`;
  }

  return {
    push: (events) => {
      for (const event of events)
        if (event.type === 'ranks') for (const [at, score] of event.scores.entries()) scores[event.first + at] = score;
    },
    finish: (bill) => [...write(bill)].join(''),
    pieces: (bill) => {
      const length = best().reduce((sum, index) => sum + (returned?.[index]?.length ?? 0), 0);
      return length > pieceLength ? write(bill) : undefined;
    },
  };
}

/** The counts, once as other surfaces write them and once where clients of Cohere look for them. */
function writeUsage({ usage: { promptTokens }, cost }: Bill): string {
  const usage = `"usage":{"prompt_tokens":${promptTokens},"total_tokens":${promptTokens},"cost":${formatUsd(cost)}}`;
  return `${usage},"meta":{"tokens":{"input_tokens":${promptTokens}}}`;
}
