import type { AvoidableLimit } from '../../core/avoidable-limit.ts';
import type { Finding } from './kinds.ts';

/** Most tags that a problem names. */
const maxTags = 3;

/** Limits that do not hold, because callers can leave the tag out. */
export function limitProblem({ workspace, tags, callers, caller }: AvoidableLimit): Finding {
  const more = tags.length > maxTags ? ` and ${tags.length - maxTags} more` : '';
  const named = `${tags.slice(0, maxTags).join(', ')}${more}`;
  const [who, them] = callers === 1 ? [`a key (${caller})`, 'it'] : [`${callers} keys (such as ${caller})`, 'them'];
  return {
    ...{ object: `workspace/${workspace}`, kind: 'limit-avoidable' },
    problem: `The limit of ${named} can be avoided: ${who} may leave the tag out, and no such limit is set for ${them}.`,
    action: 'Let an identity put the tag on the requests, or limit the keys, too: docs/how-to/tags.md#avoidable-limits',
  };
}
