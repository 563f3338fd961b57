import type { Behaviour } from './behaviour.ts';

/** The JSON with the defect that was asked for. */
export function damaged(json: string, defect: Behaviour['jsonDefect']): string {
  switch (defect) {
    case undefined:
      return json;
    case 'not-json':
      return `Here you are: ${json}`;
    case 'truncated':
      return json.slice(0, Math.max(1, Math.floor(json.length * 0.6)));
    case 'wrong-schema':
      return '{"unexpected":[null]}';
    case 'fenced':
      return `\`\`\`json\n${json}\n\`\`\``;
    case 'empty':
      return '';
  }
}
