/** Every path and method of the API (docs/reference/api.md §4), for the message to a caller that asks for another path. */
const apiPaths = 'POST /v1/chat/completions, POST /v1/messages, GET /v1/models and GET /healthz';

/** The message for a path and method that the API does not have. */
export const nothingAt = (asked: string): string => `There is nothing at ${asked}. The API has ${apiPaths}.`;

/** Longest path that a message repeats whole, characters. */
export const longestShownPath = 100;
