// Conversations of Node's libraries with Weir over its responses surface. Run as libraries.mjs is.
const { WEIR_ORIGIN: origin, WEIR_KEY: key, WEIR_MODEL: model } = process.env;
const baseURL = `${origin}/v1`;

const question = 'What is a weir?';
const toolQuestion = 'When does the tide turn at Cork? Use get_tide.';
const tideAt = ({ harbour }) => `It turns at 17:42 at ${harbour}.`;
const description = 'When the tide turns at a harbour.';
const parameters = {
  ...{ type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
  additionalProperties: false,
};

async function openai() {
  const { default: OpenAI } = await import('openai');
  const { zodTextFormat } = await import('openai/helpers/zod');
  const { z } = await import('zod');
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  const text = (await client.responses.create({ model, input: question })).output_text;
  const streamed = (await client.responses.stream({ model, input: question }).finalResponse()).output_text;
  const tools = [{ type: 'function', name: 'get_tide', description, parameters, strict: true }];
  const usual = { model, tools, store: false, include: ['reasoning.encrypted_content'] };
  const input = [{ role: 'user', content: toolQuestion }];
  const turn = await client.responses.create({ ...usual, input });
  let called;
  for (const call of turn.output.filter(({ type }) => type === 'function_call')) {
    called = JSON.parse(call.arguments);
    input.push(...turn.output, { type: 'function_call_output', call_id: call.call_id, output: tideAt(called) });
  }
  const answer = (await client.responses.create({ ...usual, input })).output_text;
  const format = zodTextFormat(z.object({ harbour: z.string() }), 'harbour');
  const formed = await client.responses.parse({ model, input: question, text: { format } });
  return { text, streamed, called, answer, structured: formed.output_parsed };
}

/** The Agents SDK as it is: the responses surface is its default. */
async function agents() {
  const { default: OpenAI } = await import('openai');
  const { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } = await import('@openai/agents');
  setTracingDisabled(true);
  setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey: key, maxRetries: 0 }));
  let called;
  const getTide = tool({
    ...{ name: 'get_tide', description, parameters, strict: true },
    execute: (input) => tideAt((called = input)),
  });
  const agent = new Agent({ name: 'Harbour', instructions: 'You know tides.', tools: [getTide], model });
  const text = (await run(agent, question)).finalOutput;
  const stream = await run(agent, question, { stream: true });
  let streamed = '';
  for await (const piece of stream.toTextStream()) streamed += piece;
  await stream.completed;
  return { text, streamed, answer: (await run(agent, toolQuestion)).finalOutput, called };
}

/** The AI SDK's own provider as it is, but for `store` in the loop of tools: otherwise it refers to items by their ids (ai-sdk-turns.mjs). */
async function aiSdk() {
  const { createOpenAI } = await import('@ai-sdk/openai');
  const { generateText, jsonSchema, Output, stepCountIs, streamText, tool } = await import('ai');
  const weir = createOpenAI({ baseURL, apiKey: key });
  let called;
  const tools = {
    get_tide: tool({
      ...{ description, inputSchema: jsonSchema(parameters) },
      execute: async (input) => tideAt((called = input)),
    }),
  };
  const usual = { model: weir(model), maxRetries: 0 };
  const { text } = await generateText({ ...usual, prompt: question });
  let streamed = '';
  for await (const piece of streamText({ ...usual, prompt: question }).textStream) streamed += piece;
  const providerOptions = { openai: { store: false } };
  const used = await generateText({ ...usual, prompt: toolQuestion, tools, stopWhen: stepCountIs(3), providerOptions });
  const output = Output.object({ schema: jsonSchema(parameters) });
  const formed = await generateText({ ...usual, prompt: question, output });
  return { text, streamed, called, answer: used.text, structured: formed.output };
}

const libraries = { openai, '@openai/agents': agents, '@ai-sdk/openai': aiSdk };
console.log(JSON.stringify(await libraries[process.argv[2]]()));
