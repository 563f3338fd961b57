import type OpenAI from 'openai';
import { putTogether } from '../put-together.ts';
import type { SweepAsk, SweepGateway } from './sweep-gateway.ts';
import type { AskCase } from './sweep-run.ts';

type Body = OpenAI.Chat.ChatCompletionCreateParamsStreaming;

const told = (value: unknown): string => JSON.stringify(value);

/**
 * Asks through the official client's stream helper, and reads the same bytes without it. An exception, or a final message that is
 * not what the bytes say, is an answer with the status 0.
 */
export function askThroughClient(gateway: Pick<SweepGateway, 'weir' | 'bodyOf'>): AskCase {
  const { weir, bodyOf } = gateway;
  return async (ask: SweepAsk) => {
    let raw: Promise<string> | undefined;
    const fetchTwice: typeof fetch = async (input, init) => {
      const response = await weir.fetch(input, init);
      const [one, other] = response.body?.tee() ?? [];
      raw = new Response(one).text();
      return new Response(other, response);
    };
    const client = weir.client({ apiKey: weir.key }).withOptions({ fetch: fetchTwice });
    const body: unknown = bodyOf(ask);
    try {
      const headers = { 'x-request-id': ask.id ?? '' };
      const final = await client.chat.completions.stream(body as Body, { headers }).finalChatCompletion();
      const text = (await raw) ?? '';
      const { choices, usage } = putTogether(text);
      const seen = final.choices.map(({ message: { content, tool_calls: calls }, finish_reason: finish }) => [
        ...[content ?? '', finish],
        ...(calls ?? []).map((call) => [call.id, 'function' in call ? call.function.arguments : '']),
      ]);
      const bare = choices.map(({ message: { content, tool_calls: calls }, finish_reason: finish }) => [
        ...[content ?? '', finish],
        ...(calls ?? []).map((call) => [call.id, call.function.arguments]),
      ]);
      if (told(seen) !== told(bare) || told(final.usage) !== told(usage)) {
        return { status: 0, body: `the client has ${told(seen)}, the bytes ${told(bare)}` };
      }
      return { status: 200, body: text };
    } catch (error) {
      return { status: 0, body: `${String(error)} ${await (raw ?? Promise.resolve('')).catch(String)}` };
    }
  };
}
