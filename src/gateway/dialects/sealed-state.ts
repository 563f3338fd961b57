/** How the sealed state of an answer begins. No base64 does. */
export const statePrefix = 'state.';

/** Whether a text that clients keep for a service is a sealed state: what the engine wants back with the next turn. */
export const isSealedState = (text: unknown): text is string =>
  typeof text === 'string' && text.startsWith(statePrefix);
