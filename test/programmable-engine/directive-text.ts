import { type BehaviourInput, isDirectiveName } from './behaviour.ts';
import { DirectiveError } from './directive.ts';
import { isJsonObject, parsedOr } from './json-value.ts';

/** A message's text without its directives, and what they said. */
export interface DirectedText {
  readonly text: string;
  readonly asked: BehaviourInput | undefined;
}

/**
 * Takes directives out of a text: `[[demo {"status": 500}]]`, or `[[words=200]]` for one directive, or `[[unicode]]` for one that is
 * to be true. Brackets around anything else are left as they are. The answer depends on the text that is left, so that a
 * broken answer can be compared with the unbroken one. Throws a DirectiveError when the JSON cannot be read.
 */
export function takeDirectives(text: string): DirectedText {
  let from = text.indexOf('[[');
  if (from < 0) return { text, asked: undefined };
  const asked: Record<string, unknown> = {};
  let kept = '';
  let at = 0;
  let found = false;
  for (; from >= 0; from = text.indexOf('[[', from)) {
    const directive = directiveAt(text, from);
    if (directive === undefined) {
      from += 2;
      continue;
    }
    found = true;
    Object.assign(asked, directive.asked);
    kept += text.slice(at, from);
    at = directive.end;
    from = directive.end;
  }
  return found ? { text: (kept + text.slice(at)).trim(), asked } : { text, asked: undefined };
}

interface FoundDirective {
  readonly asked: Record<string, unknown>;
  readonly end: number;
}

function directiveAt(text: string, from: number): FoundDirective | undefined {
  if (text.startsWith('[[demo ', from)) return jsonDirective(text, from + '[[demo '.length);
  const end = text.indexOf(']]', from);
  if (end < 0 || end - from > 200) return undefined;
  const [name = '', ...rest] = text.slice(from + 2, end).split('=');
  if (!isDirectiveName(name)) return undefined;
  return { asked: { [name]: rest.length === 0 ? true : parsedOr(rest.join('=')) }, end: end + 2 };
}

/** The JSON may itself contain "]]", so each closing pair is tried until one makes sense. */
function jsonDirective(text: string, from: number): FoundDirective {
  for (let end = text.indexOf(']]', from); end >= 0; end = text.indexOf(']]', end + 1)) {
    const asked = parsedOr(text.slice(from, end));
    if (isJsonObject(asked)) return { asked, end: end + 2 };
    if (end - from > 10_000) break;
  }
  throw new DirectiveError('[[demo …]] must hold a JSON object and end in ]]');
}
