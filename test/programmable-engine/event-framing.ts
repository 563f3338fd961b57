import type { Behaviour } from './behaviour.ts';

/** How the text of an event stream is laid out. */
export interface EventFraming {
  readonly event: (data: string) => string;
  readonly done: string;
  readonly comment: string;
  readonly blankLine: string;
}

/** The framing asked for; by default what OpenAI and vLLM send. */
export function framingOf(behaviour: Behaviour): EventFraming {
  const newline = { lf: '\n', crlf: '\r\n', cr: '\r' }[behaviour.lineEnding ?? 'lf'];
  const label = behaviour.dataSpace === false ? 'data:' : 'data: ';
  let serial = 0;
  const lines = (data: string): string => {
    if (behaviour.sseFields !== true) return `${label}${data}${newline}`;
    serial += 1;
    return `event: message${newline}id: ${serial}${newline}retry: 1000${newline}${label}${data}${newline}`;
  };
  return {
    event: (data) => lines(behaviour.multilineData === true ? spread(data, newline + label) : data) + newline,
    done: `${label}[DONE]${newline}${behaviour.done === 'unterminated' ? '' : newline}`,
    comment: `: keep-alive${newline}${newline}`,
    blankLine: newline,
  };
}

/** JSON over several lines; a line break between its tokens changes nothing. Other data stays as it is. */
function spread(data: string, between: string): string {
  try {
    return JSON.stringify(JSON.parse(data), null, 1).split('\n').join(between);
  } catch {
    return data;
  }
}
