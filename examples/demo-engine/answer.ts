import type { ChatRequest } from './chat-request.ts';
import { sampleJson } from './sample-json.ts';
import { tokensOf } from './tokens.ts';

/** What one choice says, in the pieces in which it is streamed; each is a token. */
export interface Answer {
  readonly reasoning: readonly string[];
  readonly content: readonly string[];
  readonly finishReason: 'stop' | 'length';
}

const sentences = [
  'A weir is a low barrier across a river that raises the water behind it and lets the rest flow over the top.',
  'It needs no gate and no keeper: when more water comes, more of it passes, and the level upstream hardly moves.',
  'Millers built weirs to lead a steady stream to their wheels, and engineers build them to measure a flow.',
  'From the height of the water over the crest the flow follows by a short formula.',
  'Fish need a way around it, so a good weir has a ladder of small pools at its side.',
  'In a flood the water finds its way over and around, and the barrier stands.',
];
const usualWords = 40;
const maxWords = 20_000;

/** The answer to choice `index`. The same request always has the same one, so that a partial answer can be continued. */
export function answerTo(request: ChatRequest, index: number): Answer {
  const { question, schema, partial } = request;
  const quote = question.split(/\s+/u).slice(0, 12).join(' ').slice(0, 200);
  const reasons = request.reasons && partial === '';
  const reasoning = reasons ? tokensOf(`The question is “${quote}”. A short and friendly answer will do.`) : [];
  const whole = schema === undefined ? prose(question, quote, index) : JSON.stringify(sampleJson(schema, quote));
  const rest = whole.startsWith(partial) ? whole.slice(partial.length) : whole;
  const ends = request.stops.map((stop) => rest.indexOf(stop)).filter((at) => at >= 0);
  const content = tokensOf(rest.slice(0, Math.min(rest.length, ...ends)));
  return capped({ reasoning, content, finishReason: 'stop' }, request.maxTokens);
}

/** A question that asks for “200 words” gets so many. */
function prose(question: string, quote: string, index: number): string {
  const asked = Number(/(\d+) words/u.exec(question)?.[1] ?? usualWords);
  const words = `You asked: “${quote}” I am the demo engine and make my answers up.`.split(' ');
  for (let at = index; words.length < Math.min(asked, maxWords); at += 1) {
    words.push(...(sentences[at % sentences.length] ?? '').split(' '));
  }
  return words.slice(0, Math.min(asked, maxWords)).join(' ');
}

/** Cuts what is above the caller's cap, text before reasoning. */
function capped(answer: Answer, maxTokens: number): Answer {
  const { reasoning, content } = answer;
  if (reasoning.length + content.length <= maxTokens) return answer;
  return {
    reasoning: reasoning.slice(0, maxTokens),
    content: content.slice(0, Math.max(0, maxTokens - reasoning.length)),
    finishReason: 'length',
  };
}
