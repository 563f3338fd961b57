// A conversation of two turns through the AI SDK's own provider, over the responses surface: with the provider as it is, and with the
// settings that docs/how-to/clients.md names. Run as libraries.mjs is.
import { createOpenAI } from '@ai-sdk/openai';
import { defaultSettingsMiddleware, generateText, wrapLanguageModel } from 'ai';

const { WEIR_ORIGIN: origin, WEIR_KEY: key, WEIR_MODEL: id } = process.env;
const provider = createOpenAI({ baseURL: `${origin}/v1`, apiKey: key });
const asItIs = provider(id);
const openai = { store: false, include: ['reasoning.encrypted_content'] };
const whole = wrapLanguageModel({
  model: provider(id),
  middleware: defaultSettingsMiddleware({ settings: { providerOptions: { openai } } }),
});

async function converse(model) {
  const messages = [{ role: 'user', content: 'When does the tide turn at Cork?' }];
  const first = await generateText({ model, messages, maxRetries: 0 });
  messages.push(...first.response.messages, { role: 'user', content: 'And at Cobh?' });
  try {
    const { text, warnings = [] } = await generateText({ model, messages, maxRetries: 0 });
    return { first: first.text, second: text, warnings: warnings.length };
  } catch ({ name, statusCode, message, isRetryable }) {
    return { first: first.text, error: { name, statusCode, message, isRetryable } };
  }
}

console.log(JSON.stringify({ asItIs: await converse(asItIs), whole: await converse(whole) }));
