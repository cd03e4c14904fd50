// What index.d.ts declares exists, and what exists is declared: names, members of classes, counts of parameters.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import ts from 'typescript';
import * as stet from 'stet';

const file = createRequire(import.meta.url).resolve('stet').replace(/\.js$/, '.d.ts');
const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022, true);
const faults = [];

function compareNames(where, declared, existing) {
  for (const name of declared) if (!existing.has(name)) faults.push(`${where}${name} is declared and does not exist`);
  for (const name of existing) if (!declared.has(name)) faults.push(`${where}${name} exists and is not declared`);
}

function compareParameters(where, node, run) {
  const required = node.parameters.filter((one) => !one.questionToken).length;
  if (run.length < required || run.length > node.parameters.length)
    faults.push(`${where} takes ${run.length} parameters, not ${required} to ${node.parameters.length}`);
}

const nameOf = (member) => (ts.isComputedPropertyName(member.name) ? member.name.expression.getText() : member.name.getText());
const keyOf = (key) => (key === Symbol.dispose ? 'Symbol.dispose' : String(key));

function compareClass(node, existing) {
  const members = node.members.filter((one) => ts.isMethodDeclaration(one) || ts.isGetAccessorDeclaration(one));
  const own = Reflect.ownKeys(existing.prototype).filter((key) => !['constructor', 'name'].includes(key));
  compareNames(`${node.name.text}.`, new Set(members.map(nameOf)), new Set(own.map(keyOf)));
  for (const member of members)
    if (ts.isMethodDeclaration(member) && ts.isIdentifier(member.name) && existing.prototype[member.name.text])
      compareParameters(`${node.name.text}.${member.name.text}`, member, existing.prototype[member.name.text]);
}

const declared = new Map();
for (const node of source.statements) {
  if (ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node)) declared.set(node.name.text, node);
  if (ts.isVariableStatement(node))
    for (const one of node.declarationList.declarations) declared.set(one.name.getText(), one);
}
compareNames('', new Set(declared.keys()), new Set(Object.keys(stet).filter((name) => !['default', 'module.exports'].includes(name))));
for (const [name, node] of declared) {
  if (ts.isClassDeclaration(node) && stet[name]) compareClass(node, stet[name]);
  if (ts.isFunctionDeclaration(node) && stet[name]) compareParameters(name, node, stet[name]);
}
for (const fault of faults) console.log(fault);
process.exitCode = faults.length ? 1 : 0;
