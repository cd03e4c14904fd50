// An agent loop with a scripted model: read, conflict, recovery, AGENTS.md, snapshot.
import { Session, Tracker, buildSnapshotPrompt } from 'stet';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const TASK = 'Greet the world in hello.js';

type Step = { tool: string; args: Record<string, unknown> };

// The answers of a model, turn by turn.
const edit = { path: 'src/hello.js', oldText: "'hello'", newText: "'hello, world'" };
const SCRIPT: Step[] = [
  { tool: 'read_file', args: { path: 'src/hello.js' } },
  { tool: 'edit_file', args: edit },
  { tool: 'edit_file', args: edit },
];

/** Stands in for a model; a real one would read the messages. */
function model(messages: unknown[], turn: number): Step | undefined {
  return SCRIPT[turn];
}

/** Another editor adds a line while the model thinks. */
function somebodyEdits() {
  writeFileSync('src/hello.js', `// greetings\n${readFileSync('src/hello.js', 'utf8')}`);
}

function show(text: string) {
  console.log(`  | ${text.trim().replaceAll('\n', '\n  | ')}`);
}

mkdirSync('src', { recursive: true });
writeFileSync('AGENTS.md', 'Use single quotes.\n');
writeFileSync('src/hello.js', "console.log('hello');\n");

const session = new Session('.', 'coder');
const tracker = new Tracker('.', 'hello-001');
const task = tracker.addTask(TASK);
const messages = [{ role: 'user', content: TASK }];

let step: Step | undefined;
for (let turn = 0; (step = model(messages, turn)); turn++) {
  if (turn === 1) somebodyEdits();
  const result = session.call(step.tool, step.args);
  const text = result.content.map((part) => part.text ?? '').join('');
  console.log(`${step.tool}: ${result.isError ? 'refused' : 'done'}`);
  show(text);
  messages.push({ role: 'tool', content: text });
}
tracker.completeTask(task);

// The next turn needs no history: the snapshot says what is done and what is left.
for (const message of buildSnapshotPrompt('You are a coder.', tracker.getSnapshot())) {
  console.log(`${message.role}:`);
  show(message.content);
}
tracker.close();
session.close();
if (readFileSync('src/hello.js', 'utf8') !== "// greetings\nconsole.log('hello, world');\n") throw new Error('lost');
