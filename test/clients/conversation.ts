import { expect } from 'vitest';

const text = 'You said: "What is a weir?". ';

/** What every library brings back of its conversation. */
export const conversation = {
  text: expect.stringContaining(text),
  streamed: expect.stringContaining(text),
  called: { harbour: expect.stringContaining('get_tide') },
  answer: expect.stringContaining('It turns at 17:42'),
};

/** What a library that parses brings back, too. */
export const structured = { harbour: 'What is a weir?' };
