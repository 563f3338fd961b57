// Conversations of Node's libraries with Weir. Run beside a node_modules that has the library named on the command line;
// prints one JSON object of what came back. WEIR_ORIGIN, WEIR_KEY and WEIR_MODEL say where.
const { WEIR_ORIGIN: origin, WEIR_KEY: key, WEIR_MODEL: model } = process.env;
const baseURL = `${origin}/v1`;

const question = 'What is a weir?';
const broken = [{ role: 'user', content: '[[demo {"status": 500}]] What is a weir?' }];
const toolQuestion = 'When does the tide turn at Cork? Use get_tide.';
const tideAt = ({ harbour }) => `It turns at 17:42 at ${harbour}.`;
const description = 'When the tide turns at a harbour.';
const parameters = { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] };
const harbourSchema = { ...parameters, additionalProperties: false };

/** Names of the classes that errors come as. */
async function errorClasses(requests) {
  const nameOf = async (request) => {
    try {
      await request();
      return 'none';
    } catch (error) {
      return error.constructor.name;
    }
  };
  const names = Object.entries(requests).map(async ([what, request]) => [what, await nameOf(request)]);
  return Object.fromEntries(await Promise.all(names));
}

async function openai() {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  const ask = (more, by = client) =>
    by.chat.completions.create({ model, messages: [{ role: 'user', content: question }], ...more });
  const models = [];
  for await (const listed of client.models.list()) models.push(listed.id);

  const whole = await ask();
  const stream = client.chat.completions.stream({ model, messages: [{ role: 'user', content: question }] });
  const streamed = (await stream.finalChatCompletion()).choices[0].message.content;
  let called;
  const run = client.chat.completions.runTools({
    model,
    messages: [{ role: 'user', content: toolQuestion }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_tide',
          description,
          parameters,
          parse: JSON.parse,
          function: (tool) => tideAt((called = tool)),
        },
      },
    ],
  });
  const answer = await run.finalContent();
  const formed = await ask({
    response_format: { type: 'json_schema', json_schema: { name: 'harbour', schema: harbourSchema, strict: true } },
  });
  const errors = await errorClasses({
    key: () => ask({}, new OpenAI({ baseURL, apiKey: 'sk-wrong', maxRetries: 0 })),
    model: () => ask({ model: 'test/none' }),
    request: () => ask({ temperature: 9 }),
    path: () => client.models.retrieve(model),
    engine: () => ask({ messages: broken }),
  });
  return {
    ...{ models, text: whole.choices[0].message.content, streamed },
    ...{ called, answer, structured: JSON.parse(formed.choices[0].message.content), errors },
    ...{ requestId: whole._request_id, cost: whole.usage.cost },
  };
}

async function anthropic() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: origin, apiKey: key, authToken: null, maxRetries: 0 });
  const usual = { model, max_tokens: 1000, messages: [{ role: 'user', content: question }] };
  const ask = (more, by = client) => by.messages.create({ ...usual, ...more });
  const textOf = ({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const models = [];
  for await (const listed of client.models.list()) models.push(listed.id);

  const whole = await ask();
  const streamed = textOf(await client.messages.stream(usual).finalMessage());
  let called;
  const finished = await client.beta.messages.toolRunner({
    ...usual,
    messages: [{ role: 'user', content: toolQuestion }],
    tools: [
      {
        name: 'get_tide',
        description,
        input_schema: parameters,
        parse: (input) => input,
        run: (tool) => tideAt((called = tool)),
      },
    ],
  });
  const formed = await ask({ output_config: { format: { type: 'json_schema', schema: harbourSchema } } });
  const errors = await errorClasses({
    key: () => ask({}, new Anthropic({ baseURL: origin, apiKey: 'wrong', authToken: null, maxRetries: 0 })),
    model: () => ask({ model: 'test/none' }),
    request: () => ask({ temperature: 9 }),
    path: () => client.models.retrieve(model),
    engine: () => ask({ messages: broken }),
  });
  return {
    ...{ models, text: textOf(whole), streamed },
    ...{ called, answer: textOf(finished), structured: JSON.parse(textOf(formed)), errors },
    ...{ requestId: whole._request_id, cost: whole.usage.cost },
  };
}

async function openaiAgents() {
  const { default: OpenAI } = await import('openai');
  const { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = await import('@openai/agents');
  setTracingDisabled(true);
  let called;
  const getTide = tool({
    ...{ name: 'get_tide', description, parameters: harbourSchema, strict: true },
    execute: (input) => tideAt((called = input)),
  });
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  const agent = new Agent({
    ...{ name: 'Harbour', instructions: 'You know tides.', tools: [getTide] },
    model: new OpenAIChatCompletionsModel(client, model),
  });
  const text = (await run(agent, question)).finalOutput;
  const stream = await run(agent, question, { stream: true });
  let streamed = '';
  for await (const piece of stream.toTextStream()) streamed += piece;
  await stream.completed;
  return { text, streamed, answer: (await run(agent, toolQuestion)).finalOutput, called };
}

const libraries = { openai, '@anthropic-ai/sdk': anthropic, '@openai/agents': openaiAgents };
console.log(JSON.stringify(await libraries[process.argv[2]]()));
