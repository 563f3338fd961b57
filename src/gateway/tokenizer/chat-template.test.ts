import { describe, expect, it } from 'vitest';
import type { Message, Tool } from '../../core/request.ts';
import { compileChatTemplate } from './chat-template.ts';
import { pythonFloat, pythonStrip } from './python-rules.ts';

const now = (): number => Date.UTC(2026, 6, 5, 15, 4, 9);
const render = (
  source: string,
  { messages = [{ role: 'user', content: 'hi' }] as readonly Message[], tools = [] as readonly Tool[] } = {},
): string => compileChatTemplate(source, { specialTokens: { bos_token: '<s>' }, now })({ messages, tools });
const says = (content: string) => ({ messages: [{ role: 'user', content }] as const });
const content = 'messages[0].content';

describe('a template', () => {
  it.each([
    ['gets the special tokens', '{{ bos_token }}{{ eos_token is defined }}', '<s>false'],
    ['is asked for the beginning of the answer', '{{ add_generation_prompt | string }}', 'True'],
    [
      'gets no tools as none, not as undefined',
      '{{ tools is none and tools is defined and documents is none }}',
      'true',
    ],
    [
      'writes the date of the clock',
      '{{ strftime_now("%d %b %Y, %A %I:%M %p %y%%") }}',
      '05 Jul 2026, Sunday 03:04 PM 26%',
    ],
    ['may mark the answer', 'a{%- generation %}b{% endgeneration -%} c', 'abc'],
    ['loses the line end after a block and the blanks before it', '  {% if true %}\nx\n  {% endif %}\ny', 'x\ny'],
    [
      'counts with range',
      '{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}',
      '01253',
    ],
  ])('%s', (_name, source, expected) => {
    expect(render(source)).toBe(expected);
  });

  it.each([
    ['lstrip removes only the given characters', `{{ ${content}.lstrip('\\n') }}`, '\n\n  a', '  a'],
    ['rstrip removes only the given characters', `{{ ${content}.rstrip('\\n') }}`, 'a \n', 'a '],
    ['strip takes blanks', `[{{ ${content}.strip() }}]`, ' \u001f\u0085a\t', '[a]'],
    ['trim leaves a byte order mark', `{{ ${content} | trim }}`, ' \ufeffa ', '\ufeffa'],
    ['trim works inside a longer expression', `{{ 'x' + ${content} | trim + 'y' }}`, ' a ', 'xay'],
    ['strip works on what was split', `{{ ${content}.split('|')[-1].strip('-').lstrip('\\n') }}`, 'a|-\nb-', 'b'],
  ])('strips as Python does: %s', (_name, source, text, expected) => {
    expect(render(source, says(text))).toBe(expected);
  });

  it('may not be made to range without end', () => {
    expect(() => render('{% for i in range(10000000000) %}{% endfor %}')).toThrow(RangeError);
  });

  it('never shows the text of a template that refused', () => {
    expect(() => render(`{{ raise_exception(${content}) }}`, says('secret'))).toThrow(
      'the template refused the messages',
    );
  });

  it('reads the arguments of a call as an object with numbers as they were written', () => {
    const written = '{"a":1.0,"b":-0,"c":1E5,"d":1e-7,"e":12345678901234567890,"f":"é\\"","g":[2.50,null],"h":7}';
    const messages: readonly Message[] = [
      { role: 'assistant', toolCalls: [{ id: 'c', name: 'f', arguments: written }] },
    ];
    expect(render('{{ messages[0].tool_calls[0].function.arguments | tojson }}', { messages })).toBe(
      '{"a": 1.0, "b": 0, "c": 100000.0, "d": 1e-07, "e": 12345678901234567890, "f": "é\\"", "g": [2.5, null], "h": 7}',
    );
    expect(render('{{ messages[0].tool_calls[0].function.arguments.a }}', { messages })).toBe('1.0');
    expect(render('{{ messages[0].tool_calls[0].function.arguments.h + 1 }}', { messages })).toBe('8');
  });

  it.each(['not json', '[1]', '"text"'])('leaves the arguments %s as text', (written) => {
    const messages: readonly Message[] = [
      { role: 'assistant', toolCalls: [{ id: 'c', name: 'f', arguments: written }] },
    ];
    expect(render('{{ messages[0].tool_calls[0].function.arguments }}', { messages })).toBe(written);
  });

  it('writes tools as json.dumps does', () => {
    const tools: readonly Tool[] = [{ name: 'f', parameters: { minimum: 1e-7, on: true, list: [], o: {}, ü: 'ü' } }];
    expect(render('{{ tools[0] | tojson }}', { tools })).toBe(
      '{"type": "function", "function": {"name": "f", "parameters": {"minimum": 1e-07, "on": true, "list": [], "o": {}, "ü": "ü"}}}',
    );
    expect(render('{{ tools[0].function.parameters | tojson(indent=2) }}', { tools })).toBe(
      '{\n  "minimum": 1e-07,\n  "on": true,\n  "list": [],\n  "o": {},\n  "ü": "ü"\n}',
    );
  });

  it('reads an absent answer as an empty one and the reasoning under both names', () => {
    const messages: readonly Message[] = [{ role: 'assistant', reasoning: 'r' }];
    const source = '[{{ messages[0].content }}]{{ messages[0].reasoning_content }}{{ messages[0].reasoning }}';
    expect(render(source, { messages })).toBe('[]rr');
  });
});

// What Python 3 prints for repr(float).
it.each([
  [1, '1.0'],
  [-0, '-0.0'],
  [0.1, '0.1'],
  [1e-4, '0.0001'],
  [1e-5, '1e-05'],
  [1.5e-7, '1.5e-07'],
  [123456.789, '123456.789'],
  [1e15, '1000000000000000.0'],
  [1e16, '1e+16'],
  [1.25e21, '1.25e+21'],
  [-5e-324, '-5e-324'],
  [1.7976931348623157e308, '1.7976931348623157e+308'],
])('prints the float %d as Python does', (value, text) => {
  expect(pythonFloat(value)).toBe(text);
});

it('strips whole characters only', () => {
  expect(pythonStrip('👍👎a👍', 'both', '👍')).toBe('👎a');
});
