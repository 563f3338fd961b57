import type { MessagesBody } from './schema.ts';

/** What a coding agent writes at the very beginning of its system text, for the accounts of its own vendor. */
const line = /^x-[a-z-]+-billing-header:[^\n]*(?:\n+|$)/i;

/**
 * Leaves out the billing line of a coding agent. It says nothing to a model, and it differs from session to session: with it in
 * front, no two sessions would share the beginning of their prompts, and no engine could take one from its cache.
 */
export function dropBillingLine<B extends Pick<MessagesBody, 'system'>>(body: B): B {
  const { system } = body;
  if (system === undefined || system === null) return body;
  if (typeof system === 'string') {
    return line.test(system) ? { ...body, system: system.replace(line, '') || null } : body;
  }
  const [first, ...others] = system;
  if (first === undefined || !line.test(first.text)) return body;
  const text = first.text.replace(line, '');
  const rest = text === '' ? others : [{ ...first, text }, ...others];
  return { ...body, system: rest.length === 0 ? null : rest };
}
