import type { StructuredFormat } from '../../core/capability.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { ResponseFormat } from '../../core/request.ts';
import { callMarks } from '../../gateway/structured-output/call-in-text.ts';
import { compileSchema } from '../../gateway/structured-output/checker/compile-schema.ts';
import type { Ask, AskEngine, ChoiceAnswer, ProbeAnswer } from './ask-engine.ts';
import { type ProbeFinding, type Subject, transports, withoutAnswer } from './finding.ts';

/** Small and closed, so that a constrained answer of any model ends. */
const schema = {
  type: 'object',
  properties: { dry: { type: 'boolean' }, level: { type: 'string', enum: ['low', 'high'] } },
  required: ['dry', 'level'],
  additionalProperties: false,
};
const validator = compileSchema(JSON.stringify(schema));

const tool = { name: 'get_weather', description: 'The weather of today.', parameters: schema };
const other = { name: 'get_time', description: 'The time of day.', parameters: { type: 'object', properties: {} } };

/** Room for a model that writes white space between the parts. */
const cap = 512;

const question = 'Is it dry today, and is the water low or high?';
const about = (content: string): Pick<Ask, 'messages' | 'maxOutputTokens'> => ({
  messages: [{ role: 'user', content }],
  maxOutputTokens: cap,
});

/** Probes tools and structured output, whole and streamed. */
export async function probeStructure(ask: AskEngine): Promise<readonly ProbeFinding[]> {
  const findings: ProbeFinding[] = [];
  for (const transport of transports) {
    const stream = transport === 'stream';
    for (const form of ['auto', 'required', 'named'] as const) {
      const outcome = await ask({
        ...about(`${question} Call get_weather.`),
        stream,
        tools: [other, tool],
        toolChoice: form === 'named' ? { name: tool.name } : form,
      });
      const subject = { kind: 'tool_choice', form, transport } as const;
      findings.push(judge(subject, outcome, (choice, tokens) => judgeCalls(choice, { form, tokens })));
    }
    for (const format of ['json_object', 'json_schema'] as const) {
      const outcome = await ask({
        ...about(`${question} Answer with a JSON object that has the fields "dry" and "level".`),
        stream,
        responseFormat: formatOf(format),
      });
      const subject = { kind: 'response_format', format, transport } as const;
      findings.push(judge(subject, outcome, (choice) => judgeText(choice, format)));
    }
  }
  return findings;
}

const formatOf = (format: StructuredFormat): ResponseFormat =>
  format === 'json_object' ? { type: format } : { type: format, name: 'weather', schema, strict: true };

type Judgement = Omit<ProbeFinding, 'subject'>;

function judge(
  subject: Subject,
  outcome: ProbeAnswer,
  by: (choice: ChoiceAnswer, tokens: number) => Judgement,
): ProbeFinding {
  if (outcome.kind !== 'answer') return { subject, ...withoutAnswer(outcome) };
  const [choice] = outcome.choices;
  return {
    subject,
    ...(choice === undefined ? { verdict: 'no', note: 'no answer' } : by(choice, outcome.usage?.completionTokens ?? 0)),
  };
}

/** More tokens than an empty answer has. */
const fewTokens = 8;

interface Called {
  readonly form: 'auto' | 'required' | 'named';
  /** Tokens of the answer. */
  readonly tokens: number;
}

function judgeCalls(choice: ChoiceAnswer, called: Called): Judgement {
  const { calls, finish } = choice;
  const [call] = calls;
  if (call === undefined) return judgeMissingCall(choice, called);
  if (called.form === 'named' && call.name !== tool.name) return { verdict: 'no', note: `it called ${call.name}` };
  const value = parseJson(call.arguments);
  if (!isObject(value))
    return { verdict: finish === 'length' ? 'unclear' : 'no', note: 'arguments are not a JSON object' };
  const isOfSchema = call.name !== tool.name || validator?.(value) === undefined;
  return { verdict: 'yes', note: isOfSchema ? 'a sound call' : 'a call; its arguments do not follow the schema' };
}

function judgeMissingCall({ finish, text, reasoning }: ChoiceAnswer, { form, tokens }: Called): Judgement {
  // vLLM leaves a call that the cap cuts in the text of a whole answer.
  if (finish === 'length' && form !== 'auto')
    return { verdict: 'unclear', note: `accepted; no call within ${cap} tokens` };
  if (callMarks.some((mark) => text.includes(mark))) {
    return isSoundCall(text)
      ? { verdict: 'no', note: 'the call stands in the text: the server has no parser for it' }
      : { verdict: 'unclear', note: 'accepted; the model wrote a malformed call' };
  }
  // SGLang drops the text of a call that it cannot read.
  if (finish === 'stop' && text === '' && reasoning === '' && tokens > fewTokens) {
    return {
      verdict: 'no',
      note: `neither text nor a call in ${tokens} tokens: the server's parser cannot read the call`,
    };
  }
  // A model may answer in words where it may choose.
  if (form === 'auto') return { verdict: 'unclear', note: 'accepted; the model called no tool' };
  return { verdict: 'no', note: 'no call came' };
}

/** Whether one of the calls in a text is well-formed, so that the right parser would have read it. */
function isSoundCall(text: string): boolean {
  if (/<function=[\w.-]+>[^]*<\/function>/.test(text)) return true;
  const bodies = callMarks.reduce(
    (parts: readonly string[], mark) => parts.flatMap((part) => part.split(mark)),
    [text],
  );
  return bodies.some((body) => isObject(parseJson(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1))));
}

function judgeText({ text, finish }: ChoiceAnswer, format: StructuredFormat): Judgement {
  const value = parseJson(text);
  if (!isObject(value)) {
    return finish === 'length' && text.trimStart().startsWith('{')
      ? { verdict: 'unclear', note: `accepted; the answer did not end within ${cap} tokens` }
      : { verdict: 'no', note: 'accepted, but the answer is not a JSON object' };
  }
  if (format === 'json_object' || validator?.(value) === undefined) return { verdict: 'yes', note: 'it follows' };
  return { verdict: 'no', note: 'accepted, but the answer does not follow the schema' };
}
