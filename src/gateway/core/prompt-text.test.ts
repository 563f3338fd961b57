import { describe, expect, it } from 'vitest';
import type { Message, Tool } from '../../core/request.ts';
import { promptText } from './prompt-text.ts';

const first: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Where is the file?' },
];
const next: readonly Message[] = [
  ...first,
  { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'find', arguments: '{"name":"a"}' }] },
  { role: 'tool', toolCallId: '1', content: 'in /tmp' },
];
const tools: readonly Tool[] = [{ name: 'find', parameters: { type: 'object' } }];
const text = (messages: readonly Message[], given: readonly Tool[] = tools): string =>
  promptText({ messages, tools: given });

describe('the text of a prompt', () => {
  it('begins with the text of the turn before', () => {
    expect(text(next).startsWith(text(first))).toBe(true);
    expect(text(next)).toContain('find {"name":"a"}');
    expect(text(next)).toContain('in /tmp');
  });

  it('differs from its beginning on by its tools, and later by its roles and parts', () => {
    expect(text(first, []).slice(0, 10)).not.toBe(text(first).slice(0, 10));
    const image = (url: string): readonly Message[] => [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What?' },
          { type: 'image', url },
        ],
      },
    ];
    expect(text(image('data:1'))).not.toBe(text(image('data:2')));
    expect(text([{ role: 'system', content: 'x' }])).not.toBe(text([{ role: 'user', content: 'x' }]));
  });
});
